"""Takes its time. `{"seconds": S}` waits S seconds in silence; with `every` it reports its progress that often.
`{"steps": N, "seconds": S}` reports its progress N times, S seconds apart."""

import asyncio
from typing import TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    seconds: float
    every: float
    steps: int
    done: bool


async def wait(state: State) -> dict:
    write = get_stream_writer()
    if "steps" in state:
        for i in range(state["steps"]):
            await asyncio.sleep(state.get("seconds", 1))
            write({"progress": i})
        return {"done": True}
    left, every = state.get("seconds", 12), state.get("every", 0)
    i = 0
    while every and left > every:
        await asyncio.sleep(every)
        left -= every
        write({"progress": i})
        i += 1
    await asyncio.sleep(left)
    return {"done": True}


graph = StateGraph(State).add_node("wait", wait).add_edge(START, "wait").add_edge("wait", END).compile(name="slow")
