#!/bin/sh
# Unpack Debian's docker beside the development environment, so that tests can start a daemon of their own. It is not
# installed: that would start a daemon on the host, with a bridge and packet rules. Never fails: a test that lacks
# something skips and says so.
set -u
into=$1

[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || exit 0
command -v dockerd >/dev/null 2>&1 && command -v docker >/dev/null 2>&1 && exit 0
[ -e "$into/usr/sbin/dockerd" ] && exit 0

echo "Unpacking docker for the tests" >&2
made=$(mktemp -d "${into%/*}/docker.XXXXXX") || exit 0
trap 'rm -rf "$made"' EXIT
chmod 755 "$made"
if (
    cd "$made" || exit 1
    apt-get download -qq docker.io containerd >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null 2>&1 && apt-get download -qq docker.io containerd >/dev/null 2>&1; } || exit 1
    for package in *.deb; do dpkg-deb -x "$package" . && rm "$package" || exit 1; done
); then
    mv "$made" "$into"
else
    echo "Some tests will be skipped: docker could not be had" >&2
fi
