#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-hintio.sh OUTPUT
#
# Builds hintio, which does I/O with completion hints, for the guest: one
# static, stripped binary.  CC may name a compiler wrapper such as "ccache gcc".
set -eu

if [ $# -ne 1 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
hintio=$(cd "$(dirname "$0")/hintio" && pwd)
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -static -s \
    -o "$1.tmp" "$hintio"/*.c
mv "$1.tmp" "$1"
