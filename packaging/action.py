#!/usr/bin/env python3
"""The step of action.yml: gets the binary, waits for the revisions, and sets the outputs.

Inputs are variables (INPUT_…), so no text of a workflow is ever part of a script. Exits with the code of
`runtail revisions wait`; 2 also means a wrong input or an archive that is not the released one, and 5 that it could not be
downloaded."""
import hashlib, io, json, os, pathlib, platform, re, secrets, signal, subprocess, sys, tarfile, tempfile, urllib.request, zipfile

RELEASES = os.environ.get("RUNTAIL_RELEASES") or "https://github.com/runtail/runtail/releases/download"
KEYS = ("LANGSMITH_API_KEY", "LANGSMITH_BEARER_TOKEN")
# Static on Linux, so that it runs on every runner and in every container.
TARGETS = {
    ("Linux", "x86_64"): "x86_64-unknown-linux-musl",
    ("Linux", "aarch64"): "aarch64-unknown-linux-musl",
    ("Darwin", "x86_64"): "x86_64-apple-darwin",
    ("Darwin", "arm64"): "aarch64-apple-darwin",
    ("Windows", "AMD64"): "x86_64-pc-windows-msvc",
}


def get(name):
    return os.environ.get(name, "").strip()


def read(name):
    """Returns an input."""
    return get(f"INPUT_{name.upper()}")


def report(command, text):
    for raw, escaped in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(raw, escaped)
    print(f"::{command}::{text}", flush=True)


def fail(why, code=2):
    report("error", why)
    sys.exit(code)


def write_output(name, value):
    """Sets an output. A server's text must not begin a new line, which would set another one."""
    line = re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]", " ", "" if value is None else str(value))
    with open(os.environ.get("GITHUB_OUTPUT", os.devnull), "a", encoding="utf-8", errors="replace") as file:
        file.write(f"{name}={line}\n")


def install():
    """Downloads the release, checks its SHA-256, and returns the binary."""
    target = TARGETS.get((platform.system(), platform.machine()))
    if not target:
        fail(f"there is no release for {platform.system()} {platform.machine()}; give the input binary")
    version = read("version").lstrip("v")
    if not version:
        manifest = (pathlib.Path(__file__).parent.parent / "Cargo.toml").read_text(encoding="utf-8")
        version = re.search(r'^version = "([^"]+)"', manifest, re.M)[1]
    if not re.fullmatch(r"\d+\.\d+\.\d+[0-9A-Za-z.+-]*", version):
        fail(f"the input version is {version!r}, not a version such as 1.2.3")
    name = f"runtail-{target}.{'zip' if 'windows' in target else 'tar.gz'}"
    try:
        archive, checksum = [
            urllib.request.urlopen(f"{RELEASES}/v{version}/{file}", timeout=120).read() for file in (name, f"{name}.sha256")
        ]
    except OSError as error:
        fail(f"cannot download {RELEASES}/v{version}/{name}: {error}", 5)
    if checksum.split()[:1] != [hashlib.sha256(archive).hexdigest().encode()]:
        fail(f"the SHA-256 of {name} ({version}) is not the released one")
    program = "runtail.exe" if "windows" in target else "runtail"
    binary = pathlib.Path(tempfile.mkdtemp(dir=get("RUNNER_TEMP") or None)) / program
    path = f"runtail-{target}/{program}"
    if name.endswith(".zip"):
        binary.write_bytes(zipfile.ZipFile(io.BytesIO(archive)).read(path))
    else:
        binary.write_bytes(tarfile.open(fileobj=io.BytesIO(archive)).extractfile(path).read())
    binary.chmod(0o755)
    return str(binary)


def configure():
    """Returns the options that select the installation: a configuration file, or one that is made of the inputs."""
    settings = {name: read(name) for name in ("region", "url", "workspace") if read(name)}
    if read("config"):
        if settings:
            fail(f"the input {min(settings)} can't be combined with config")
        return ["--config", read("config"), *(word for name in read("profile").split() for word in ("-p", name))]
    key = next((name for name in KEYS if get(name)), None)
    if not key:
        fail("there is no key: set LANGSMITH_API_KEY in env of the step, from a secret")
    settings["api_key_env" if key == KEYS[0] else "bearer_env"] = key
    # As without a configuration file. But a runner may have one, which must not count.
    if "region" in settings and "url" in settings:
        fail("the inputs region and url exclude each other")
    if not settings.keys() & {"region", "url"}:
        host, endpoint = get("LANGGRAPH_HOST_URL"), get("LANGSMITH_ENDPOINT")
        settings.update({"control_plane": host} if host else {"url": endpoint} if endpoint else {"region": "us"})
    workspace = read("workspace") or get("LANGSMITH_WORKSPACE_ID") or get("LANGSMITH_TENANT_ID")
    if workspace:
        settings["workspace"] = workspace
    path = pathlib.Path(tempfile.mkdtemp(dir=get("RUNNER_TEMP") or None)) / "config.toml"
    # A JSON string is a TOML string too.
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in settings.items()]
    path.write_text("\n".join(["[profiles.action]", *lines, ""]), encoding="utf-8")
    return ["--config", str(path)]


def run(command, **streams):
    """Runs the binary to its end, and passes signals to it. Its errors become part of this step's log."""
    # The log of a build can contain workflow commands.
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    child = subprocess.Popen(command, stderr=sys.stdout, text=True, encoding="utf-8", errors="replace", **streams)
    if os.name == "posix":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: child.send_signal(number))
    output = child.communicate()[0]
    print(f"\n::{token}::", flush=True)
    return child.returncode, output


def main():
    # A server's text may have what the encoding of this system has not.
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    for name in filter(get, KEYS):
        report("add-mask", get(name))
    deployments = read("deployment").split()
    if not deployments:
        fail("the input deployment is empty")
    command = [read("binary") or None, *configure()]
    command[0] = command[0] or install()
    options = [f"--{name}={read(name)}" for name in ("revision", "timeout", "interval") if read(name)]
    if get("GITHUB_STEP_SUMMARY"):
        options.append(f"--summary-file={get('GITHUB_STEP_SUMMARY')}")
    try:
        code, rows = run([*command, "revisions", "wait", "-o", "jsonl", *options, "--", *deployments], stdout=subprocess.PIPE)
    except OSError as error:
        fail(f"cannot start {command[0]}: {error}")

    results = [row for row in map(json.loads, rows.splitlines()) if row["kind"] == "result"]
    failed = [row for row in results if row["outcome"] != "deployed"]
    for row in failed:
        status = f" ({row['status']})" if row.get("status") else ""
        report("error", f"{row['deployment']}: {row['outcome']}{status}")
    first = (failed or results or [{}])[0]
    command += ["-p", first["profile"]] if first.get("profile") and not read("profile") else []
    if failed and first.get("revision_id") and read("logs") == "true":
        print("::group::Build log", flush=True)
        run([*command, "logs", "--build", f"--revision={first['revision_id']}", "-o", "text", "--", first["deployment_id"]], stdout=sys.stdout)
        print("::endgroup::", flush=True)
    outputs = {name: first.get(name) for name in ("outcome", "status")}
    outputs["revision"] = first.get("revision_id")
    outputs["url"] = address(command, first["deployment_id"]) if results and not failed else None
    outputs["results"] = json.dumps([{name: row[name] for name in row if name != "card"} for row in results])
    for name, value in outputs.items():
        write_output(name, value)
    sys.exit(code if code >= 0 else 128 - code)


def address(command, deployment):
    """Returns the address of a deployment's agent server, if it can be had."""
    found = subprocess.run([*command, "deployments", "get", "-o", "json", "--", deployment], stdout=subprocess.PIPE)
    record = json.loads(found.stdout) if found.returncode == 0 else {}
    return record.get("url") or (record.get("source_config") or {}).get("custom_url")


main()
