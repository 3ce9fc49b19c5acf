#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-fio-shared.sh BUILD-DIR OUTPUT
#
# Links the fio that build-fio.sh has built in BUILD-DIR once more, with shared
# libraries: nothing can be loaded into a static program.
set -eu

if [ $# -ne 2 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
case $2 in /*) output=$2 ;; *) output=$PWD/$2 ;; esac
build=$(cd "$1" && pwd)
# beside it and with the same files, so that they stay as build-fio.sh left them
work=$build-shared
rm -rf "$work"
cp -al "$build" "$work"
trap 'rm -rf "$work"' EXIT
cd "$work"
rm -f fio
sed 's/ -static / /' config-host.mak > config-host.mak.tmp
touch -r config-host.mak config-host.mak.tmp
mv config-host.mak.tmp config-host.mak
make V=1 CC="${CC:-cc}" EXTLIBS="$(echo our-*.o)" fio
strip -o "$output.tmp" fio
./fio --enghelp | grep -q libaio
mv "$output.tmp" "$output"
