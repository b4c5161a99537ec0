"""A static agent server on loopback: it answers what clients ask before a stream, and gives a body as the kernel copies it.

The first path segment names the body: `/tokens/threads/T/runs/R/stream`. Such a server costs next to nothing beside any
client, so what is measured is the client."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading

THREAD = "00000000-0000-4000-8000-000000000001"
RUN = "00000000-0000-4000-8000-000000000002"
TIME = "2026-11-21T00:00:00Z"
INFO = {"version": "0.16.7", "langgraph_py_version": "1.2.22", "flags": {"assistants": True, "crons": False}}
OF_THREAD = {
    "thread_id": THREAD, "status": "idle", "created_at": TIME, "updated_at": TIME, "metadata": {}, "values": None,
    "interrupts": {},
}
OF_RUN = {
    "run_id": RUN, "thread_id": THREAD, "assistant_id": "00000000-0000-4000-8000-000000000003", "created_at": TIME,
    "updated_at": TIME, "status": "success", "metadata": {}, "multitask_strategy": "enqueue", "kwargs": {},
}


def answer(connection, value, status="200 OK"):
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\nserver: uvicorn\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


def serve(connection, folder):
    with connection:
        given = connection.makefile("rb")
        while line := given.readline():
            method, target, _ = line.decode().split(" ", 2)
            length = 0
            while (head := given.readline().strip()) != b"":
                if head.lower().startswith(b"content-length:"):
                    length = int(head.split(b":")[1])
            given.read(length)
            _, body, *rest = target.split("?")[0].split("/")
            if rest[-1:] == ["stream"]:
                head = "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                connection.sendall(f"{head}cache-control: no-store\r\ntransfer-encoding: chunked\r\n\r\n".encode())
                with open(folder / f"{body}.body", "rb") as file:
                    size, at = os.fstat(file.fileno()).st_size, 0
                    while at < size:
                        at += os.sendfile(connection.fileno(), file.fileno(), at, size - at)
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
    """The address of a server of the bodies in a folder, on a process of its own."""
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
