#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Profiles the example and says what to type next. Results go to .cache/demo, so the tree stays clean.
set -euo pipefail
cd "$(dirname "$0")/.."

strata=build/release/bin/strata
mkdir -p .cache/demo

printf '$ strata -collect hotspots -r .cache/demo/r@@@hs -- bash examples/launch.sh\n' >&2
"$strata" -collect hotspots -r .cache/demo/r@@@hs -- bash examples/launch.sh

# The folder made last: names are numbered and fixed in width, so the order of names is that of time.
result=$(find .cache/demo -maxdepth 1 -name 'r*hs' -type d | sort | tail -n 1)
cat >&2 <<END

Look at it in a browser: this prints the address with the key to it, http://127.0.0.1:8123/#token=…, and opens it
  $strata serve -data-directory .cache/demo -web-port 8123 -open
Or on the command line, for example:
  $strata report source recipe.py -r $result                  (the script, with the CPU time of each line)
  $strata report hotspots -r $result -group-by task-type,function -limit 10
  $strata export flamegraph -r $result -o .cache/demo/cpu.html      (open it in any browser)
  $strata export perfetto -r $result -o .cache/demo/trace.pftrace   (open it in ui.perfetto.dev)
and in front of a program of your own:
  $strata -collect hotspots -- python your_script.py
END
