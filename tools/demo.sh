#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Profiles the example and says what to type next. Results go to .cache/demo, so the tree stays clean.
set -euo pipefail
cd "$(dirname "$0")/.."

strata=build/release/bin/strata
mkdir -p .cache/demo

printf '$ strata -collect tasks -r .cache/demo/r@@@ta -- bash examples/launch.sh\n' >&2
"$strata" -collect tasks -r .cache/demo/r@@@ta -- bash examples/launch.sh

# The folder made last: names are numbered and fixed in width, so the order of names is that of time.
result=$(find .cache/demo -maxdepth 1 -name 'r*ta' -type d | sort | tail -n 1)
cat >&2 <<END

Next, for example:
  $strata report top-down -r $result
  $strata report tasks -r $result -group-by task-family
  $strata export chrome -r $result -o .cache/demo/trace.json.gz   (open it in ui.perfetto.dev or chrome://tracing)
and in front of a program of your own:
  $strata -collect tasks -- python your_script.py
END
