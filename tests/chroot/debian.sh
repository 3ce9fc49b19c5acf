#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Try this checkout's last commit on another release of Debian, in a chroot.
#
#   sudo tests/chroot/debian.sh RELEASE DIR [COMMAND...]
#
# RELEASE is bookworm, trixie, ...; DIR becomes the root of the chroot (some 8 GB with all that is
# built), and is used again when it is one. COMMAND is run in a clone there; the default is what a
# newcomer types, and then all tests. DEBIAN_MIRROR names a mirror other than debootstrap's own.
# Needs root and debootstrap.
#
# Mounts are made in a namespace of their own: when the command ends, nothing is left of them, nor
# of what it started. The machine's certificates, names and resolver are taken along, and pip's and
# proxies' variables.
set -eu

die() { printf 'debian.sh: %s\n' "$*" >&2; exit 2; }

[ $# -ge 2 ] || die "usage: tests/chroot/debian.sh RELEASE DIR [COMMAND...]"
release=$1 place=$2
shift 2
[ "$(id -u)" = 0 ] || die "needs root"
for program in debootstrap unshare git; do
    command -v "$program" >/dev/null || die "needs $program"
done

source=$(readlink -f -- "$0")
source=${source%/tests/chroot/*}

if [ ! -e "$place/etc/cint-release" ]; then
    debootstrap --variant=minbase --include=ca-certificates,git,python3,python3-venv \
        "$release" "$place" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
    printf '%s\n' "$release" >"$place/etc/cint-release"
fi
[ "$(cat "$place/etc/cint-release")" = "$release" ] ||
    die "$place is $(cat "$place/etc/cint-release"), not $release"

# debootstrap makes no hosts file, without which localhost is no name.
for file in hosts resolv.conf; do
    cp "/etc/$file" "$place/etc/$file"
done
certificates=/etc/ssl/certs/ca-certificates.crt
if [ -e "$certificates" ]; then
    cp "$certificates" "$place$certificates"
fi
mkdir -p "$place/home/cint"
checkout=$place/home/cint/cint
[ -e "$checkout" ] || git clone --quiet --no-hardlinks "$source" "$checkout"
git -C "$checkout" fetch --quiet "$source" HEAD
git -C "$checkout" checkout --quiet --detach FETCH_HEAD
printf '%s, %s\n' "$(sed -n 's/^PRETTY_NAME=//p' "$place/etc/os-release")" \
    "$(git -C "$checkout" log -1 --format='commit %h')"

[ $# -gt 0 ] ||
    set -- sh -c './cint doctor && ./cint build && ./cint compare && ./cint test'
# shellcheck disable=SC2016
exec unshare --mount --pid --fork --kill-child sh -euc '
    place=$1
    shift
    mount --make-rprivate /
    mount -t proc proc "$place/proc"
    mount --rbind /dev "$place/dev"
    exec chroot "$place" env -i HOME=/home/cint TERM="${TERM:-dumb}" LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${PIP_CERT+PIP_CERT="$PIP_CERT"} ${PIP_INDEX_URL+PIP_INDEX_URL="$PIP_INDEX_URL"} \
        ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} \
        ${no_proxy+no_proxy="$no_proxy"} \
        ${CINT_DEBIAN_MIRROR+CINT_DEBIAN_MIRROR="$CINT_DEBIAN_MIRROR"} \
        sh -c '\''cd /home/cint/cint && exec "$@"'\'' sh "$@"
' sh "$place" "$@"
