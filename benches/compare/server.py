"""A static agent server on loopback: it answers the requests that precede a stream, and sends a body as fast as the kernel
copies it.

The first path segment names the body: `/tokens/threads/T/runs/R/stream`. The server costs next to nothing compared with any
client, so the client is what is measured."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

import bodies

THREAD = "00000000-0000-4000-8000-000000000001"
RUN = "00000000-0000-4000-8000-000000000002"
# The times of the run match the ids of its events.
BEGAN = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(bodies.BEGAN // 1000))
ENDED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(bodies.BEGAN // 1000 + 3600))
INFO = {"version": "0.16.7", "langgraph_py_version": "1.2.22", "flags": {"assistants": True, "crons": False}}
OF_THREAD = {
    "thread_id": THREAD, "status": "idle", "created_at": BEGAN, "updated_at": ENDED, "metadata": {}, "values": None,
    "interrupts": {},
}
OF_RUN = {
    "run_id": RUN, "thread_id": THREAD, "assistant_id": "00000000-0000-4000-8000-000000000003", "created_at": BEGAN,
    "updated_at": ENDED, "status": "success", "metadata": {}, "multitask_strategy": "enqueue",
    "kwargs": {"resumable": True},
}


def answer(connection, value, status="200 OK"):
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\nserver: uvicorn\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


LAST = b"0\r\n\r\n"


def chunk(metadata, after):
    """A `metadata` event this many milliseconds after the first event."""
    block = f"event: metadata\r\ndata: {json.dumps(metadata)}\r\nid: {bodies.BEGAN + after}-0\r\n\r\n".encode()
    return b"%x\r\n%b\r\n" % (len(block), block)


def give(connection, path, leave_out):
    with open(path, "rb") as file:
        size, at = os.fstat(file.fileno()).st_size - leave_out, 0
        while at < size:
            at += os.sendfile(connection.fileno(), file.fileno(), at, size - at)


def serve(connection, folder):
    with connection:
        given = connection.makefile("rb")
        while line := given.readline():
            method, target, _ = line.decode().split(" ", 2)
            length, replays = 0, False
            while (head := given.readline().strip()) != b"":
                if head.lower().startswith(b"content-length:"):
                    length = int(head.split(b":")[1])
                if head.lower().startswith(b"last-event-id:"):
                    replays = True
            given.read(length)
            _, body, *rest = target.split("?")[0].split("/")
            if rest[-1:] == ["stream"]:
                head = "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                connection.sendall(f"{head}cache-control: no-store\r\ntransfer-encoding: chunked\r\n\r\n".encode())
                of_thread = rest == ["threads", THREAD, "stream"]
                if of_thread and replays:
                    connection.sendall(chunk({"run_id": RUN, "attempt": 1}, 0))
                if replays or not of_thread:
                    # A thread's stream continues after the run, so the chunk that ends the body is left out.
                    give(connection, folder / f"{body}.body", leave_out=len(LAST) if of_thread else 0)
                if of_thread:
                    if replays:
                        connection.sendall(chunk({"run_id": RUN, "status": "run_done"}, 3_600_000))
                    given.read()
            elif rest == ["info"]:
                answer(connection, INFO)
            elif rest == ["threads", THREAD]:
                answer(connection, OF_THREAD)
            elif rest == ["threads", THREAD, "state"]:
                answer(connection, {"values": {}, "next": [], "tasks": [], "metadata": {}, "interrupts": []})
            elif rest == ["threads", THREAD, "runs", RUN]:
                answer(connection, OF_RUN)
            elif rest[:2] == ["threads", THREAD] and rest[-1] == "runs":
                answer(connection, [OF_RUN])
            elif rest[-1:] == ["search"]:
                answer(connection, [])
            else:
                answer(connection, {"detail": "not here"}, "404 Not Found")


@contextlib.contextmanager
def serving(folder):
    """Starts a server of the bodies in a folder in a separate process. Returns its address."""
    server = subprocess.Popen([sys.executable, __file__, folder], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()


def main():
    folder = pathlib.Path(sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=quietly, args=(connection, folder), daemon=True).start()


def quietly(connection, folder):
    try:
        serve(connection, folder)
    except OSError:
        pass  # The client left.


if __name__ == "__main__":
    main()
