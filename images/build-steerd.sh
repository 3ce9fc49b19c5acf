#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-steerd.sh OUTPUT
#
# Builds steerd/, with the policy that the patches give the kernel: one static,
# stripped binary, without meson.  CC may name a compiler wrapper such as
# "ccache gcc".
set -eu

if [ $# -ne 1 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
kernel=$root/tests/unit/kernel
policy=$(mktemp -d)
trap 'rm -rf "$policy"' EXIT
python3 "$kernel/take.py" "$root/guest-patches/6.12/series" \
    block/blk-switch-policy.h "$policy/blk-switch-policy.h"
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra \
    -D_GNU_SOURCE -static -s -I"$policy" -I"$kernel" \
    -o "$1.tmp" "$root"/images/steerd/*.c
mv "$1.tmp" "$1"
