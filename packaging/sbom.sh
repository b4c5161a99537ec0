#!/usr/bin/env bash
# Writes the software bill of materials of the program, in the format of CycloneDX: packaging/sbom.sh FILE
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: packaging/sbom.sh FILE" >&2; exit 2; }
mkdir -p "$(dirname "$1")"
out=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=$PWD/target/tools
[ -x "$tools/bin/cargo-cyclonedx" ] ||
  cargo install cargo-cyclonedx --version 0.5.9 --locked --debug --root "$tools" --target-dir "$tools/build"
# It writes a file beside the manifest of each member, and only the program's is wanted.
trap 'git ls-files --others -- "*/runtail-sbom.json" runtail-sbom.json | xargs rm -f' EXIT
"$tools/bin/cargo-cyclonedx" cyclonedx --format json --spec-version 1.5 --target all --no-build-deps --override-filename runtail-sbom
mv runtail-sbom.json "$out"
