"""Sends events as fast as it can, so that many of them fall into the same millisecond and share an id.

`{"n": N, "pad": P}` sends N custom events with P characters of padding each, `{"tokens": N}` sends N tokens.
With `pause` it waits that many seconds after every `burst` events, so that clients can connect and disconnect meanwhile.
"""

import asyncio
import sys
from pathlib import Path
from typing import TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph

sys.path.insert(0, str(Path(__file__).parent))
from scripted import Scripted, text, usage  # noqa: E402


class State(TypedDict, total=False):
    n: int
    pad: int
    burst: int
    pause: float
    tokens: int
    done: bool


async def pour(state: State) -> dict:
    write, pad = get_stream_writer(), "x" * state.get("pad", 0)
    burst, pause = state.get("burst", 0), state.get("pause", 0)
    for i in range(state.get("n", 0)):
        write({"seq": i, "pad": pad})
        if burst and (i + 1) % burst == 0:
            await asyncio.sleep(pause)
    tokens = state.get("tokens", 0)
    if tokens:
        await Scripted(script=text(*(f"t{i} " for i in range(tokens))) + usage(1, tokens, "stop")).ainvoke("pour")
    return {"done": True}


graph = StateGraph(State).add_node("pour", pour).add_edge(START, "pour").add_edge("pour", END).compile(name="firehose")
