#!/usr/bin/env bash
# Runs the gates engine's tests where OpenFHE is: in .venv-gates, which is made first. Says so when this machine cannot, and then
# succeeds, since the engine is optional; the circuits' own tests need no OpenFHE and run with all others. The fixtures that all tests share are left
# out: they need libraries that this environment does not have. No time limit: a busy machine takes as long as it needs.
set -euo pipefail
cd "$(dirname "$0")/.."

if scripts/gates-environment.sh; then
    exec env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=src:lab/src .venv-gates/bin/python -m pytest --noconftest --timeout 0 -p no:cacheprovider tests/engines/gates/test_gates_openfhe.py "$@"
else
    code=$?
    [ "$code" = 4 ] || exit "$code"
    echo "The OpenFHE tests of the gates engine were NOT RUN on this machine." >&2
fi
