#!/usr/bin/env bash
# Checks that the program compiles with the Rust version that Cargo.toml declares. Tests may need a newer one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
rustup toolchain install "$version" --profile minimal
cargo "+$version" check --locked
