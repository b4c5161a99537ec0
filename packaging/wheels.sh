#!/usr/bin/env bash
# Builds the wheel of a platform. Its binary stays in target/TARGET/dist/, for the archive and the npm package.
# Only wheels go to the Python Package Index: with a source distribution there, pip on any other platform would download Rust
# (1.2 GB) and build for minutes, without a word, and leave all that behind if there is no linker.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: packaging/wheels.sh TARGET OUT" >&2; exit 2; }
target=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# maturin builds and links with zig, auditwheel looks at the result independently.
venv=${CARGO_TARGET_DIR:-target}/tools/wheels
"$(command -v python3 || command -v python)" -m venv "$venv"
[ ! -d "$venv/Scripts" ] || ln -sfn Scripts "$venv/bin" # Windows
# shellcheck disable=SC1091
. "$venv/bin/activate"
pip install --quiet --disable-pip-version-check maturin==1.16.0 ziglang==0.17.1 auditwheel==6.8.2

# zig links against the oldest glibc that Rust supports, whatever the glibc of this machine is.
linux() { # linux COMPATIBILITY
  rustup target add "$target"
  maturin build --locked --target "$target" --out "$out" --zig --compatibility "$1"
  auditwheel show "$out"/runtail-*"$1_${target%%-*}".whl
}
case $target in
  *-linux-gnu*) linux manylinux_2_17 ;;
  *-linux-musl*) linux musllinux_1_2 ;;
  *) rustup target add "$target" && maturin build --locked --target "$target" --out "$out" ;;
esac
