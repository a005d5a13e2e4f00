#!/bin/sh
# Install the Debian packages that a list names, where we may; elsewhere say which are missing. Never fails:
# a test that lacks something skips and says so.
set -u
list=$1

command -v dpkg-query >/dev/null 2>&1 || exit 0
missing=
for package in $(sed -e 's/#.*//' "$list"); do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Debian packages for the tests:$missing" >&2
    # shellcheck disable=SC2086 - a list of words
    if apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null; then
        exit 0
    fi
fi
echo "Some tests will be skipped; to run them install:$missing" >&2
