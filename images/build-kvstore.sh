#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-kvstore.sh OUTPUT
#
# Builds kvstore/, with the user-space driver of the tree's userspace/: one
# static, stripped binary, without meson.  CC may name a compiler wrapper such
# as "ccache gcc".
set -eu

if [ $# -ne 1 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -static -s -pthread \
    -I "$here/../userspace" -o "$1.tmp" "$here"/kvstore/*.c "$here"/../userspace/*.c -lm
mv "$1.tmp" "$1"
