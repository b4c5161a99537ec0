#!/usr/bin/env bash
# Checks that the program and its tests compile for the other platforms, without warnings: check-targets.sh [TARGET…].
# It needs rustup and Python; cargo-zigbuild and zig, the C compiler for these targets, are installed under target/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v cargo-zigbuild >/dev/null; then
  python3 -m venv target/tools/zig
  target/tools/zig/bin/pip install --quiet --disable-pip-version-check cargo-zigbuild==0.24.1 ziglang==0.17.1
  PATH=$PWD/target/tools/zig/bin:$PATH
fi
[ $# -gt 0 ] || set -- x86_64-pc-windows-gnu aarch64-unknown-linux-musl aarch64-apple-darwin
failed=()
for target in "$@"; do
  printf '\n=== %s\n' "$target"
  rustup target add "$target"
  # With --target the flags don't concern build scripts, so nothing of an ordinary build is built again.
  RUSTFLAGS="-D warnings" cargo-zigbuild check --locked --keep-going --all-targets --target "$target" || failed+=("$target")
done
[ ${#failed[@]} -eq 0 ] || { printf '\n=== FAILED: %s\n' "${failed[*]}" >&2; exit 1; }
