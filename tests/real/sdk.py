"""Reads a stream over a breaking connection with the official Python SDK: starts a run of the graph `firehose`, follows it
(the SDK reconnects by itself, with the last id that it received), and prints the numbers of the received events.

    python sdk.py URL THREAD INPUT

One line of JSON: `{"seen": [0, 1, …], "error": null, "version": "0.4.14"}`; `error` is what the SDK raised, if it gave up.
"""

import asyncio
import json
import sys
from importlib.metadata import version

from langgraph_sdk import get_client


async def follow(url: str, thread: str, given: dict) -> dict:
    client = get_client(url=url, api_key=None)
    seen, error = [], None
    try:
        stream = client.runs.stream(
            thread, "firehose", input=given, stream_mode=["custom"], stream_resumable=True, on_disconnect="continue"
        )
        async for part in stream:
            if part.event == "custom":
                seen.append(part.data["seq"])
    except Exception as raised:  # whatever it is: it is what a program that uses the SDK gets
        error = f"{type(raised).__name__}: {raised}"
    return {"seen": seen, "error": error, "version": version("langgraph-sdk")}


print(json.dumps(asyncio.run(follow(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))))
