#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-fio-agree.sh SOURCE BUILD-DIR OUTPUT
#
# Links the fio that build-fio.sh has built in BUILD-DIR once more, with the
# profile of fio-agree/.
set -eu

if [ $# -ne 3 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
profile=$(cd "$(dirname "$0")/fio-agree" && pwd)
source=$(cd "$1" && pwd)
case $3 in /*) output=$3 ;; *) output=$PWD/$3 ;; esac
build=$(cd "$2" && pwd)
# beside it and with the same files, so that they stay as build-fio.sh left them
work=$build-agree
rm -rf "$work"
cp -al "$build" "$work"
trap 'rm -rf "$work"' EXIT
cd "$work"
rm -f fio
for part in agree blocks; do
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu99 -O2 -Wall -D_GNU_SOURCE -include config-host.h \
        -fmacro-prefix-map="$profile/=profile/" -I. -I"$source" -c -o "our-$part.o" \
        "$profile/$part.c"
done
make V=1 CC="${CC:-cc}" EXTLIBS="$(echo our-*.o) -lm" fio

strip -o "$output.tmp" fio
./fio --cmdhelp=profile | grep -q agree
mv "$output.tmp" "$output"
