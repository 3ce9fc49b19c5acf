#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-slice.sh OUTPUT
#
# Builds slice, which asks the scheduler for a time slice, for the guest: one
# static, stripped binary.  CC may name a compiler wrapper such as "ccache gcc".
set -eu

if [ $# -ne 1 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
slice=$(cd "$(dirname "$0")/slice" && pwd)
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -static -s \
    -o "$1.tmp" "$slice"/*.c
mv "$1.tmp" "$1"
