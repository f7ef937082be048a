#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Configures (when needed) and builds one preset of CMakePresets.json; quiet when all goes well.
#
# usage: tools/build.sh PRESET [cmake --build options]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
log=.cache/build-$preset.log
mkdir -p .cache

run() {
	if ! "$@" >>"$log" 2>&1; then
		tail -n 60 "$log" >&2
		printf 'build: failed; the whole log is %s\n' "$log" >&2
		exit 1
	fi
}

: >"$log"
if [ ! -f "build/$preset/build.ninja" ]; then
	run cmake --preset "$preset"
fi
run cmake --build "build/$preset" "$@"
