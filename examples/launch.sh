#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A wrapper like the ones real jobs are started with: it picks an interpreter, sets a variable, and runs
# the script as a child (no exec), so that a profiler has to follow it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

python=${PYTHON:-}
if [ -z "$python" ] && [ -x "$here/../.venv/bin/python" ]; then
	python=$here/../.venv/bin/python
fi

export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(nproc)}"
"${python:-python3}" "$here/recipe.py" "$@"
