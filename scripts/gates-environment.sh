#!/usr/bin/env bash
# Makes .venv-gates, the environment of the gates engine: a Python in which the library openfhe really imports, and what the engine and its
# tests need. Quick when it is there already. Exit code 0: it is there; 4: this machine has no Python that will do (and the script says so).
#
# Python 3.10 is tried first, then 3.12: those named on the path, then those of pyenv. A pyenv shim may exist and still fail, and pip installs
# wheels of openfhe that do not import, so each is tried by running it.
set -euo pipefail
cd "$(dirname "$0")/.."

environment=.venv-gates
stamp="$environment/.stamp"
wanted="$(cat constraints-gates.txt scripts/gates-environment.sh | sha256sum)"

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && [ -x "$environment/bin/python" ]; then
    exit 0
fi

candidates() {
    [ -n "${GATES_BASE_PYTHON:-}" ] && echo "$GATES_BASE_PYTHON"
    for version in 3.10 3.12; do
        command -v "python$version" || true
        for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
            if [ -x "$python" ]; then echo "$python"; fi
        done
    done
}

tried=""
for python in $(candidates); do
    if ! "$python" -c 'import sys, venv; raise SystemExit(sys.version_info[:2] not in ((3, 10), (3, 12)))' >/dev/null 2>&1; then
        tried="$tried $python (does not run as Python 3.10 or 3.12);"
        continue
    fi
    rm -rf "$environment"
    "$python" -m venv "$environment"
    if ! "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        --requirement constraints-gates.txt >"$environment/install.log" 2>&1; then
        tried="$tried $python (packages do not install: $(grep -m1 ERROR "$environment/install.log" || true));"
        continue
    fi
    if problem="$("$environment/bin/python" -c 'import openfhe; openfhe.BinFHEContext' 2>&1)"; then
        echo "$wanted" >"$stamp"
        echo "Made $environment with $("$environment/bin/python" --version) ($python)."
        exit 0
    fi
    tried="$tried $python (openfhe does not import: $(echo "$problem" | tail -n 1));"
done

rm -rf "$environment"
echo "No Python here can run the gates engine: it needs Python 3.10 on 64-bit Linux with glibc 2.35 or newer (Ubuntu 22.04, Debian 12)," >&2
echo "or Python 3.12 with a C++ library as new as Ubuntu 24.04's. Tried:${tried:- nothing, as neither is installed}" >&2
exit 4
