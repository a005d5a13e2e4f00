#!/bin/sh
# Make .venv and install Trainplane into it with the pinned versions. Does nothing when that has been done already.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The stamp holds what the environment was made from, so a moved checkout or a changed pin makes it anew.
stamp=.venv/installed
want="$(pwd) $(cat pyproject.toml constraints.txt tools/setup.sh | cksum)"
if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then
    exit 0
fi

python=
for candidate in "${PYTHON:-python3}" python3.11 python3.12 python3.13 python3.14; do
    if recent "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    say "Trainplane needs Python 3.11 or newer, and none was found: install one, or name it with \`make PYTHON=/path/to/python\`."
    exit 1
fi

# An environment that was made elsewhere, or half made, is made anew; one that works is kept.
case "$(cat "$stamp" 2>/dev/null)" in
    "" | "$(pwd) "*) ;;
    *) rm -rf .venv ;;
esac
if ! { recent .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; }; then
    say "Making .venv with $("$python" --version)"
    rm -rf .venv
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        # Debian ships ensurepip in a package of its own.
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
            say "Installing $package"
            apt-get update -qq >/dev/null
            DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package" >/dev/null
        else
            say "This Python cannot make virtual environments: install the package $package (Debian, Ubuntu) and run make again."
            exit 1
        fi
    fi
    "$python" -m venv .venv
fi

say "Installing packages (once; a minute at most)"
pip() { .venv/bin/python -m pip --disable-pip-version-check --quiet --no-input "$@"; }
# The build backend goes in first and pinned: an isolated build would fetch whatever is newest.
if ! { pip install -c constraints.txt hatchling editables && pip install -c constraints.txt --no-build-isolation -e '.[dev]'; }; then
    say "Installing failed: pip says why above. Mend that (a network? a package index?) and run make again."
    exit 1
fi
printf '%s\n' "$want" >"$stamp"
