"""Says nothing for `seconds`; with `every` it reports its progress that often."""

import asyncio
from typing import TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    seconds: float
    every: float
    done: bool


async def wait(state: State) -> dict:
    left, every = state.get("seconds", 12), state.get("every", 0)
    write, i = get_stream_writer(), 0
    while every and left > every:
        await asyncio.sleep(every)
        left -= every
        write({"progress": i})
        i += 1
    await asyncio.sleep(left)
    return {"done": True}


graph = StateGraph(State).add_node("wait", wait).add_edge(START, "wait").add_edge("wait", END).compile(name="slow")
