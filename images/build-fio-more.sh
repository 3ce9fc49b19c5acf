#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-fio-more.sh SOURCE BUILD-DIR OUTPUT
#
# Links the fio that build-fio.sh has built in BUILD-DIR once more, with what is
# in the directory that is called as OUTPUT is: fio-agree/, a profile, or
# fio-user/, an engine, with the user-space driver that it is for.
set -eu

if [ $# -ne 3 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
name=$(basename "$3")
own=$(cd "$(dirname "$0")/$name" && pwd)
driver=$(cd "$(dirname "$0")/../userspace" && pwd)
source=$(cd "$1" && pwd)
case $3 in /*) output=$3 ;; *) output=$PWD/$3 ;; esac
build=$(cd "$2" && pwd)
case $name in
fio-agree) libs=-lm asked=--cmdhelp=profile said=agree ;;
fio-user) libs= asked=--enghelp said=cintio ;;
esac
# beside it and with the same files, so that they stay as build-fio.sh left them
work=$build-${name#fio-}
rm -rf "$work"
cp -al "$build" "$work"
trap 'rm -rf "$work"' EXIT
cd "$work"
rm -f fio
drivers=
if [ "$name" = fio-user ]; then
    for part in "$driver"/*.c; do
        # shellcheck disable=SC2086
        ${CC:-cc} -std=gnu11 -O2 -Wall -D_GNU_SOURCE -fmacro-prefix-map="$driver/=driver/" \
            -c -o "driver-$(basename "$part" .c).o" "$part"
        drivers="$drivers driver-$(basename "$part" .c).o"
    done
fi
for part in "$own"/*.c; do
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu11 -O2 -Wall -D_GNU_SOURCE -include config-host.h \
        -fmacro-prefix-map="$own/=own/" -I. -I"$source" -idirafter "$driver" \
        -c -o "our-$(basename "$part" .c).o" "$part"
done
make V=1 CC="${CC:-cc}" EXTLIBS="$(echo our-*.o)$drivers $libs" fio

strip -o "$output.tmp" fio
./fio "$asked" | grep -q "$said"
mv "$output.tmp" "$output"
