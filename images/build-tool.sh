#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-tool.sh NAME OUTPUT
#
# Builds a tool of the guest from the C files in NAME/ beside this script, such as
# hintio: one static, stripped binary, without meson.  CC may name a compiler
# wrapper such as "ccache gcc".
set -eu

if [ $# -ne 2 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
sources=$(cd "$(dirname "$0")" && pwd)/$1
if [ ! -d "$sources" ]; then
    echo "build-tool: there is no $sources" >&2
    exit 1
fi
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -static -s \
    -o "$2.tmp" "$sources"/*.c -lm
mv "$2.tmp" "$2"
