#!/usr/bin/env bash
# Prints the section of CHANGELOG.md for a tag such as v1.2.3. Fails if Cargo.toml has another version or the section is missing.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: packaging/release-notes.sh TAG" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -n '/^\[workspace\.package\]/,/^\[workspace\.dep/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
[ "$1" = "v$version" ] || { echo "the tag is $1, but Cargo.toml has version $version" >&2; exit 1; }
notes=$(awk -v heading="## $version" '/^## /{inside = $0 == heading || index($0, heading " ") == 1; next} inside' CHANGELOG.md)
[ -n "$notes" ] || { echo "CHANGELOG.md has no section $version" >&2; exit 1; }
printf '%s\n' "$notes"
