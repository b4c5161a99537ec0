"""Reads a stream with the official Python SDK, and counts its events."""

import asyncio
import sys

from langgraph_sdk import get_client, get_sync_client

THREAD, RUN = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"


async def in_turns(url):
    client = get_client(url=url, timeout=600)
    return sum([1 async for _ in client.runs.join_stream(THREAD, RUN)])


def at_once(url):
    client = get_sync_client(url=url, timeout=600)
    return sum(1 for _ in client.runs.join_stream(THREAD, RUN))


if __name__ == "__main__":
    how, url = sys.argv[1:]
    print(at_once(url) if how == "sync" else asyncio.run(in_turns(url)))
