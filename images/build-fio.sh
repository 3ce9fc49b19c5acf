#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-fio.sh SOURCE BUILD-DIR OUTPUT [MAKE-ARGUMENT...]
#
# Builds fio for the guest out of tree: one static, stripped binary with the
# local engines (psync, pvsync2, libaio, io_uring, null, ...) and our own,
# images/fio/hint*.c.  CC may name a compiler wrapper such as "ccache gcc".
# Needs libaio-dev and zlib1g-dev.
#
# Everything that configure would pick up from the machine it runs on is turned
# off, so that the binary depends on the source alone:
#   native        -march of the host's CPU would not run under emulation
#   numa          one node in the guest
#   the others    engines for remote or special storage, and their libraries
set -eu

if [ $# -lt 3 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
engines=$(cd "$(dirname "$0")/fio" && pwd)
source=$(cd "$1" && pwd)
mkdir -p "$2"
build=$(cd "$2" && pwd)
case $3 in /*) output=$3 ;; *) output=$PWD/$3 ;; esac
shift 3

for lib in aio z; do
    if ! echo 'int main(void) { return 0; }' |
            ${CC:-cc} -x c -static -o "$build/probe" - -l$lib; then
        echo "build-fio: no static lib$lib; install libaio-dev zlib1g-dev" >&2
        exit 1
    fi
done
rm -f "$build/probe"

cd "$build"
# not every version knows every option, and an unknown one is an error
known=$("$source/configure" --help)
options=
for option in native numa rdma rados rbd http gfapi libnfs pmem xnvme libzbc \
        tcmalloc dfs; do
    case $known in
    *"--disable-$option "*) options="$options --disable-$option" ;;
    esac
done
# shellcheck disable=SC2086
"$source/configure" --build-static $options
for needed in CONFIG_LIBAIO CONFIG_PWRITEV2; do
    if ! grep -q "^$needed=y" config-host.mak; then
        echo "build-fio: configure left out $needed" >&2
        exit 1
    fi
done
# fio finds its engines by their constructors: to be linked in is enough
objects=
for part in "$engines"/*.c; do
    object=$PWD/our-$(basename "$part" .c).o
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu99 -O2 -Wall -D_GNU_SOURCE -include config-host.h \
        -fmacro-prefix-map="$engines/=engines/" -I. -I"$source" -c -o "$object" "$part"
    objects="$objects $object"
done
make V=1 CC="${CC:-cc}" EXTLIBS="$objects" "$@" fio

strip -o "$output.tmp" fio
# a binary that does not even start must not end up in the image
for engine in io_uring hint_psync hint_libaio hint_io_uring; do
    "./fio" --enghelp | grep -q "$engine"
done
mv "$output.tmp" "$output"
"$output" --version
