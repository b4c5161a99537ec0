"""Bodies of streams, made from a real event of the agent server: each event is one HTTP chunk, as the server sends it,
and six consecutive events share an id, as they do within a millisecond."""

import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
CAPTURE = HERE.parent.parent / "tests" / "captures" / "agent-messages-tuple.sse"
BEGAN = 1_789_000_000_000


def token_of_capture():
    """The longest `messages` event of the capture: a token with its metadata."""
    blocks = CAPTURE.read_text().replace("\r\n", "\n").split("\n\n")
    datas = [
        line.removeprefix("data: ")
        for block in blocks
        if "event: messages\n" in block + "\n"
        for line in block.split("\n")
        if line.startswith("data: ")
    ]
    chunks = [data for data in datas if json.loads(data)[0].get("type") == "AIMessageChunk"]
    return json.loads(max(chunks, key=len))


def event(name, data, number):
    return f"event: {name}\r\ndata: {data}\r\nid: {BEGAN + number // 6}-0\r\n\r\n".encode()


def tokens(size):
    """`messages` events of one long answer."""
    message, metadata = token_of_capture()
    message["id"] = "run--bench"
    number, made = 0, 0
    while made < size:
        message["content"] = f"word{number} "
        block = event("messages", json.dumps([message, metadata], separators=(",", ":")), number)
        made += len(block)
        number += 1
        yield block


def custom(size):
    """Small `custom` events."""
    number, made = 0, 0
    while made < size:
        block = event("custom", f'{{"i":{number}}}', number)
        made += len(block)
        number += 1
        yield block


def big(count, each):
    """States of this size each."""
    for number in range(count):
        items = [{"n": n, "text": "x" * 80, "list": [1, 2, 3]} for n in range(each // 120)]
        yield event("values", json.dumps({"turn": number, "items": items}, separators=(",", ":")), number * 6)


def write(path, blocks):
    """Writes the chunked body of these events, unless it exists. Returns the numbers of events and bytes."""
    sizes = path.with_suffix(".size")
    if path.exists() and sizes.exists():
        return tuple(map(int, sizes.read_text().split()))
    events, size = 0, 0
    with open(path, "wb", buffering=1 << 20) as file:
        for block in blocks:
            file.write(b"%x\r\n%b\r\n" % (len(block), block))
            events, size = events + 1, size + len(block)
        file.write(b"0\r\n\r\n")
    sizes.write_text(f"{events} {size}")
    return events, size
