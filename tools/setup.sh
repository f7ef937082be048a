#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing and nothing else: Debian packages, and a virtual environment in .venv with
# torch (from the python on PATH when that one has it); for the tests also one in .venv-tf with TensorFlow and JAX,
# which wants packages of its own. Quick when there is nothing to do.
#
# usage: tools/setup.sh demo|test|lint
set -euo pipefail
cd "$(dirname "$0")/.."

profile=${1:-test}
torch_requirement='torch==2.13.0'
ruff_requirement='ruff>=0.6'

build_packages=(gcc libc6-dev cmake ninja-build pkg-config libzstd-dev zlib1g-dev libjson-c-dev
	libsqlite3-dev libdw-dev libiberty-dev libcapstone-dev libc++abi1-14 libmicrohttpd-dev libgnutls28-dev)
python_packages=(python3 python3-venv)
test_packages=(libcmocka-dev clang-14 libclang-rt-14-dev musl-tools util-linux gfortran libomp-14-dev g++
	libtbb-dev libunwind-dev chromium linux-perf valgrind qemu-user qemu-user-static busybox-static golang-go
	gcc-multilib file libjemalloc2 ocl-icd-libopencl1 pocl-opencl-icd libze1 libze-dev)
lint_packages=(clang-format-14 clang-tidy-14 cppcheck shellcheck codespell)
# The page is bundled by it. Whoever has Node.js from elsewhere keeps it: Debian's npm would fight with it.
command -v npm >/dev/null || build_packages+=(nodejs npm)

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

case $profile in
build) packages=("${build_packages[@]}") ;;
demo) packages=("${build_packages[@]}" "${python_packages[@]}") ;;
test) packages=("${build_packages[@]}" "${python_packages[@]}" "${test_packages[@]}") ;;
lint) packages=("${build_packages[@]}" "${python_packages[@]}" libcmocka-dev "${lint_packages[@]}") ;;
*) die "usage: tools/setup.sh build|demo|test|lint" ;;
esac

missing_packages() {
	local state
	state=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
	local package
	for package in "${packages[@]}"; do
		grep -qx "$package installed" <<<"$state" || echo "$package"
	done
}

install_packages() {
	if ! command -v dpkg-query >/dev/null; then
		local tool
		for tool in gcc cmake ninja pkg-config; do
			command -v "$tool" >/dev/null ||
				die "this is not a Debian system and '$tool' is missing: install the equivalent of: ${packages[*]}"
		done
		return
	fi
	local missing=()
	mapfile -t missing < <(missing_packages)
	((${#missing[@]})) || return 0
	local as_root=()
	if [ "$(id -u)" != 0 ]; then
		if command -v sudo >/dev/null; then
			as_root=(sudo)
		else
			die "these packages are missing; run as root: apt-get install ${missing[*]}"
		fi
	fi
	say "installing ${missing[*]}"
	local log=.cache/setup.log
	mkdir -p .cache
	if ! { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update &&
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
			"${missing[@]}"; } </dev/null >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		die "apt-get failed; the whole log is $log"
	fi
}

has_torch() { "$1" -c 'import torch' >/dev/null 2>&1; }

# A python that has torch wins; else 3.11, for which the pinned torch has wheels everywhere; else any.
base_python() {
	local name
	for name in python3 python; do
		if command -v "$name" >/dev/null && has_torch "$name"; then
			echo "$name"
			return
		fi
	done
	for name in python3.11 python3; do
		if command -v "$name" >/dev/null && "$name" -c 'import venv, ensurepip' 2>/dev/null; then
			echo "$name"
			return
		fi
	done
	die "no python3 with the venv module found"
}

# The environment made once for the demo serves the tests too: they only add to it.
make_venv() {
	if [ ! -x .venv/bin/python ]; then
		local python flags=()
		python=$(base_python)
		if has_torch "$python"; then
			flags=(--system-site-packages)
		fi
		say "making .venv with $("$python" --version)"
		rm -rf .venv
		"$python" -m venv "${flags[@]}" .venv
		# A python that is itself a virtual environment hands on only what lies below it: point to its own
		# packages, so that its torch is used and nothing is downloaded.
		if has_torch "$python" && ! has_torch .venv/bin/python; then
			"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
				>"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/base.pth"
		fi
	fi
	local wanted=()
	has_torch .venv/bin/python || wanted+=("$torch_requirement")
	.venv/bin/python -c 'import numpy' 2>/dev/null || wanted+=(numpy)
	case $profile in
	test) wanted+=("$ruff_requirement") ;;
	lint) wanted=("$ruff_requirement") ;;
	esac
	if ((${#wanted[@]})); then
		say "pip install ${wanted[*]}"
		.venv/bin/python -m pip install --quiet --disable-pip-version-check "${wanted[@]}" </dev/null >&2
	fi
	if [ "$profile" = test ]; then
		# The list is closed; its head says why dependencies are left out.
		say "pip install -r tests/e2e/requirements.txt"
		.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
			-r tests/e2e/requirements.txt </dev/null >&2
	fi
}

# Without network the tests that need TensorFlow fail and say so; all others run.
make_tensorflow_venv() {
	if [ ! -x .venv-tf/bin/python ]; then
		local python
		python=$(base_python)
		say "making .venv-tf with $("$python" --version)"
		rm -rf .venv-tf
		"$python" -m venv .venv-tf
	fi
	say "pip install -r tests/e2e/requirements-tensorflow.txt into .venv-tf"
	.venv-tf/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		-r tests/e2e/requirements-tensorflow.txt </dev/null >&2
}

# What drives the browser in the tests of pages: only they need it. The browser itself is Debian's.
make_web_modules() {
	# npm ci empties the folder first, also one that several working trees share.
	if npm ls --prefix tests/web --all </dev/null >/dev/null 2>&1; then
		return
	fi
	say "npm ci in tests/web"
	npm ci --prefix tests/web --no-audit --no-fund --silent </dev/null >&2
}

# What bundles, checks and tests the page (web/).
make_page_modules() {
	say "npm ci for web"
	cmake -DNPM=npm -DWEB="$PWD/web" -DMUST=ON -P cmake/WebPackages.cmake </dev/null >&2
}

install_packages
[ "$profile" != build ] || exit 0
mkdir -p .cache
stamp=.cache/setup-$profile
wanted_state=$(cat tools/setup.sh tests/e2e/requirements*.txt tests/web/package-lock.json web/package-lock.json | sha256sum | cut -d' ' -f1)
if [ -x .venv/bin/python ] && { [ "$profile" != test ] || [ -x .venv-tf/bin/python ]; } &&
	[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted_state $(readlink -f .venv/bin/python)" ]; then
	exit 0
fi
make_venv
[ "$profile" != test ] || make_web_modules
[ "$profile" = demo ] || make_page_modules
if [ "$profile" = test ] && ! make_tensorflow_venv; then
	say "TensorFlow cannot be installed: its tests will fail; the next run tries again"
	exit 0
fi
echo "$wanted_state $(readlink -f .venv/bin/python)" >"$stamp"
