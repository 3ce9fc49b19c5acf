#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Usage: build-agent.sh OUTPUT
#
# Builds the guest agent, one static, stripped binary, without meson.  CC may
# name a compiler wrapper such as "ccache gcc".  Needs libjansson-dev.
set -eu

if [ $# -ne 1 ]; then
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
fi
agent=$(cd "$(dirname "$0")/agent" && pwd)
if ! echo 'int main(void) { return 0; }' |
        ${CC:-cc} -x c -static -o "$1.tmp" - -ljansson; then
    echo "build-agent: no static libjansson; install libjansson-dev" >&2
    exit 1
fi
sources=
for part in agent child job modules nvme plan port serve util; do
    sources="$sources $agent/$part.c"
done
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -static -s \
    -o "$1.tmp" $sources -ljansson
mv "$1.tmp" "$1"
