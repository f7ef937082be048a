#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks Debian's own PyTorch (python3-torch) and all that it needs beside the system, by Debian's package manager and
# without root: nothing is installed. For the tests of a release that is built otherwise than the wheels are.
#
# usage: tools/debian_torch.sh FOLDER
# Afterwards FOLDER/python3 runs the system's Python with that torch.
set -euo pipefail
export LC_ALL=C

folder=${1:?usage: tools/debian_torch.sh FOLDER}
say() { printf 'debian_torch: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

[ ! -x "$folder/python3" ] || exit 0
for tool in apt-get dpkg-deb /usr/bin/python3; do
	command -v "$tool" >/dev/null || die "this is no Debian system: $tool is missing"
done
mkdir -p "$folder/packages" "$folder/root"
folder=$(cd "$folder" && pwd)
log=$folder/log.txt
apt-get -s --no-install-recommends install python3-torch >"$log" 2>&1 ||
	die "apt-get does not find python3-torch (try apt-get update); see $log"
mapfile -t names < <(awk '$1 == "Inst" { print $2 }' "$log")
say "downloading ${#names[@]} packages"
if ((${#names[@]})); then
	(cd "$folder/packages" && apt-get download "${names[@]}" >>"$log" 2>&1) || die "apt-get download failed; see $log"
fi
for package in "$folder"/packages/*.deb; do
	[ ! -e "$package" ] || dpkg-deb -x "$package" "$folder/root"
done
rm -rf "$folder/packages"
machine=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
# With what the alternatives of an installed system would choose.
path=
for place in usr/lib/"$machine" usr/lib/"$machine"/{blas,lapack} usr/lib lib/"$machine"; do
	path=${path:+$path:}$folder/root/$place
done
cat >"$folder/python3.new" <<END
#!/bin/sh
LD_LIBRARY_PATH='$path'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} PYTHONPATH='$folder/root/usr/lib/python3/dist-packages' \\
exec /usr/bin/python3 "\$@"
END
chmod +x "$folder/python3.new"
"$folder/python3.new" -c 'import torch' >>"$log" 2>&1 || die "torch cannot be imported; see $log"
mv "$folder/python3.new" "$folder/python3"
