"""Waits until a server lists the graphs of a configuration file.

    python ready.py URL PROCESS_GROUP CONFIG

Fails after two minutes, when no process of the group is left, or when a process outside the group listens on the port:
`langgraph dev` moves to another port without an error if its own is taken, and then a foreign server may answer.
"""

import json
import os
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

LISTEN = "0A"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def sockets_of(group: int) -> set[str]:
    """The inodes of the sockets that the processes of a group have open."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(process.name)) == group:
                found |= {os.readlink(one) for one in (process / "fd").iterdir()}
        except OSError:
            continue  # the process or the file is gone
    return {one.removeprefix("socket:[").removesuffix("]") for one in found if one.startswith("socket:[")}


def listeners(port: int) -> set[str]:
    """The inodes of the sockets that listen on a port. Empty on systems without /proc."""
    table = Path("/proc/net/tcp")
    rows = [line.split() for line in table.read_text().splitlines()[1:]] if table.exists() else []
    return {row[9] for row in rows if row[3] == LISTEN and int(row[1].split(":")[1], 16) == port}


def graphs(url: str) -> set[str]:
    request = urllib.request.Request(
        f"{url}/assistants/search", b'{"limit":100}', {"content-type": "application/json"}
    )
    with opener.open(request, timeout=5) as answer:
        return {assistant["graph_id"] for assistant in json.load(answer)}


def main(url: str, group: int, config: str) -> str | None:
    wanted = set(json.loads(Path(config).read_text())["graphs"])
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if not alive(group):
            return "the server exited"
        if listeners(urlsplit(url).port) - sockets_of(group):
            return f"another process listens on {url}"
        try:
            if wanted <= graphs(url):
                return None
        except (OSError, ValueError):
            pass  # not up yet
        time.sleep(0.1)
    return "no answer within two minutes"


problem = main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
sys.exit(f"serve: {problem}" if problem else 0)
