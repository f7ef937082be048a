#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every static check, each one named with its verdict; the findings of the failed ones are shown.
#
# usage: tools/lint.sh [--fix]     --fix lets clang-format, ruff and biome rewrite files, and checks nothing
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t c_files < <(git ls-files --cached --others --exclude-standard 'src/*.[ch]' 'tests/*.[ch]' 'bench/*.[ch]')
mapfile -t shell_files < <(git ls-files --cached --others --exclude-standard '*.sh' .ci/run)
mapfile -t python_files < <(git ls-files --cached --others --exclude-standard '*.py')

if [ "${1:-}" = --fix ]; then
	clang-format-14 -i "${c_files[@]}"
	.venv/bin/ruff check --quiet --fix "${python_files[@]}"
	node web/check.mjs --fix
	exit 0
fi

mkdir -p .cache
failed=0
check() {
	local name=$1 begin=$SECONDS log=.cache/lint.log
	shift
	if "$@" >"$log" 2>&1; then
		printf 'lint: %-14s ok      %3d s\n' "$name" $((SECONDS - begin))
		grep '^warning:' "$log" || true
	else
		printf 'lint: %-14s FAILED  %3d s\n' "$name" $((SECONDS - begin))
		cat "$log"
		failed=$((failed + 1))
	fi
}

# The analysis reads the compile commands of the dev preset; headers come in with the files that use them.
tidy() {
	[ -f build/dev/compile_commands.json ] || tools/build.sh dev --target help
	local sources=()
	mapfile -t sources < <(printf '%s\n' "${c_files[@]}" | grep '^src/.*\.c$')
	python3 tools/tidy.py "${sources[@]}"
}

# Without the system's headers, which it needs not: seconds, and the next time only what changed.
cppcheck_sources() {
	[ -f build/dev/compile_commands.json ] || tools/build.sh dev --target help
	mkdir -p .cache/cppcheck
	cppcheck --project=build/dev/compile_commands.json --file-filter='src/*' --cppcheck-build-dir=.cache/cppcheck \
		-j "$(nproc)" --quiet --error-exitcode=1 --std=c11 --platform=unix64 --max-configs=1 \
		-D__x86_64__=1 -D__linux__=1 -D__GNUC__=12 --enable=warning,performance,portability \
		--suppressions-list=tools/cppcheck.suppress --inline-suppr \
		--template='{file}:{line}: {severity}: {message} [{id}]'
}

check clang-format clang-format-14 --dry-run -Werror "${c_files[@]}"
check layers python3 tools/check_layers.py
check banned python3 tools/check_banned.py
check style python3 tools/check_style.py
check docs python3 tools/check_docs.py
check shellcheck shellcheck "${shell_files[@]}"
check ruff .venv/bin/ruff check --quiet "${python_files[@]}"
check web node web/check.mjs
check codespell codespell --quiet-level 2 --skip '*/node_modules/*,*/corpus/*,*/data/*,*/golden/*' README.md CONTRIBUTING.md \
	docs src tests tools bench examples web/src
check cppcheck cppcheck_sources
check clang-tidy tidy

if [ "$failed" != 0 ]; then
	printf 'lint: %d checks failed\n' "$failed"
	exit 1
fi
echo 'lint: all checks passed'
