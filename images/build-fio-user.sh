#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-fio-user.sh SOURCE BUILD-DIR OUTPUT
#
# Links the fio that build-fio.sh has built in BUILD-DIR once more, with the
# engine of fio-user/ and the user-space driver that it is for.
set -eu

if [ $# -ne 3 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
engine=$(cd "$(dirname "$0")/fio-user" && pwd)
driver=$(cd "$(dirname "$0")/../userspace" && pwd)
source=$(cd "$1" && pwd)
case $3 in /*) output=$3 ;; *) output=$PWD/$3 ;; esac
build=$(cd "$2" && pwd)
# beside it and with the same files, so that they stay as build-fio.sh left them
work=$build-user
rm -rf "$work"
cp -al "$build" "$work"
trap 'rm -rf "$work"' EXIT
cd "$work"
rm -f fio
for part in "$driver"/*.c; do
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu11 -O2 -Wall -D_GNU_SOURCE \
        -fmacro-prefix-map="$driver/=driver/" -c -o "driver-$(basename "$part" .c).o" "$part"
done
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -D_GNU_SOURCE -include config-host.h \
    -fmacro-prefix-map="$engine/=engine/" -I. -I"$source" -idirafter "$driver" -c -o our-cintio.o "$engine/cintio.c"
make V=1 CC="${CC:-cc}" EXTLIBS="$(echo our-*.o driver-*.o)" fio

strip -o "$output.tmp" fio
./fio --enghelp | grep -q cintio
mv "$output.tmp" "$output"
