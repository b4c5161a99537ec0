#!/usr/bin/env bash
# Packs the archive of a release and its checksum: runtail-TARGET.tar.gz, or .zip for Windows, with the folder runtail-TARGET.
# The same input gives the same bytes: files are sorted, belong to root and have the time SOURCE_DATE_EPOCH (else the commit's).
# The binary prints its own manual pages and completions. If it doesn't run on this machine, RUNTAIL names one that does.
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: [RUNTAIL=BINARY] packaging/archive.sh BINARY TARGET OUT" >&2; exit 2; }
mkdir -p "$3"
binary=$(realpath "$1") name=runtail-$2 out=$(cd "$3" && pwd)
runtail=$(realpath "${RUNTAIL:-$1}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

folder=$temporary/$name
mkdir -p "$folder/completions"
case $2 in *windows*) program=runtail.exe format=zip ;; *) program=runtail format=tar.gz ;; esac
cp "$binary" "$folder/$program"
cp LICENSE-* README.md CHANGELOG.md crates/core/assets/config.example.toml "$folder"
"$runtail" man --dir "$folder/man"
completions() { # completions SHELL FILE: the name that the shell's loader looks for
  "$runtail" completions "$1" >"$folder/completions/$2"
}
completions bash runtail.bash
completions elvish runtail.elv
completions fish runtail.fish
completions powershell _runtail.ps1
completions zsh _runtail

# Python packs, because tar and zip have other options on each platform.
"$(command -v python3 || command -v python)" - "$folder" "$out/$name.$format" <<'END'
import gzip, hashlib, io, os, pathlib, sys, tarfile, time, zipfile
folder, archive = map(pathlib.Path, sys.argv[1:])
moment = int(os.environ["SOURCE_DATE_EPOCH"])
files = [(f"{folder.name}/{f.relative_to(folder).as_posix()}", f.read_bytes()) for f in sorted(folder.rglob("*")) if f.is_file()]
mode = lambda path: 0o755 if path in (f"{folder.name}/runtail", f"{folder.name}/runtail.exe") else 0o644
if archive.suffix == ".zip":
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path, content in files:
            entry = zipfile.ZipInfo(path, time.gmtime(moment)[:6])
            entry.create_system, entry.external_attr, entry.compress_type = 3, (0o100000 | mode(path)) << 16, zipfile.ZIP_DEFLATED
            zipped.writestr(entry, content)
else:
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=moment) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for path, content in files:
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime, entry.mode, entry.uname, entry.gname = len(content), moment, mode(path), "root", "root"
            tar.addfile(entry, io.BytesIO(content))
digest = hashlib.sha256(archive.read_bytes()).hexdigest()
pathlib.Path(f"{archive}.sha256").write_text(f"{digest}  {archive.name}\n", newline="\n")
print(f"{archive}: {len(files)} files, {archive.stat().st_size} bytes")
END
