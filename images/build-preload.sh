#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-preload.sh library|program OUTPUT
#
# Builds what marks programs' I/O in the guest from preload/: the library, or the
# program that starts others with it, which is static.  CC may name a compiler
# wrapper such as "ccache gcc".
set -eu

if [ $# -ne 2 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
sources=$(cd "$(dirname "$0")/../preload" && pwd)
case $1 in
library)
    set -- "$2" -fPIC -shared -fvisibility=hidden "$sources/calls.c" "$sources/mark.c" ;;
program)
    set -- "$2" -static -DLIBRARY_DIR='"/lib"' "$sources/launch.c" ;;
*)
    echo "build-preload: $1: library or program" >&2
    exit 2 ;;
esac
output=$1
shift
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -D_GNU_SOURCE -s -o "$output.tmp" "$@" "$sources/rules.c" -ldl
mv "$output.tmp" "$output"
