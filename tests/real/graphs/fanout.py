"""Parallel nodes next to a subgraph that contains another subgraph, both streaming tokens."""

import operator
import sys
from pathlib import Path
from typing import Annotated, TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph

sys.path.insert(0, str(Path(__file__).parent))
from scripted import Scripted, text, usage  # noqa: E402


class State(TypedDict, total=False):
    topic: str
    notes: Annotated[list[str], operator.add]
    answer: str


class Deep(TypedDict, total=False):
    topic: str
    answer: str


def side(name: str):
    async def node(state: State) -> dict:
        write = get_stream_writer()
        for i in range(3):
            write({"node": name, "i": i})
        return {"notes": [f"{name}: {state.get('topic', '')}"]}

    return node


async def plan(state: State) -> dict:
    return {"notes": ["planned"]}


async def think(state: Deep) -> dict:
    get_stream_writer()({"node": "think", "depth": 2})
    model = Scripted(script=text("deep ", "thoughts ", "on ", state.get("topic", "nothing")) + usage(5, 4, "stop"))
    answer = await model.ainvoke("think")
    return {"answer": answer.content}


async def prepare(state: Deep) -> dict:
    get_stream_writer()({"node": "prepare", "depth": 1})
    model = Scripted(script=text("shallow ", "thoughts") + usage(3, 2, "stop"))
    await model.ainvoke("prepare")
    return {"topic": state.get("topic", "nothing")}


async def join(state: State) -> dict:
    return {"notes": [f"joined: {state.get('answer', '')}"]}


inner = StateGraph(Deep).add_node("think", think).add_edge(START, "think").add_edge("think", END).compile(name="inner")

sub = (
    StateGraph(Deep)
    .add_node("prepare", prepare)
    .add_node("inner", inner)
    .add_edge(START, "prepare")
    .add_edge("prepare", "inner")
    .add_edge("inner", END)
    .compile(name="sub")
)

graph = (
    StateGraph(State)
    .add_node("plan", plan)
    .add_node("left", side("left"))
    .add_node("right", side("right"))
    .add_node("sub", sub)
    .add_node("join", join)
    .add_edge(START, "plan")
    .add_edge("plan", "left")
    .add_edge("plan", "right")
    .add_edge("plan", "sub")
    .add_edge(["left", "right", "sub"], "join")
    .add_edge("join", END)
    .compile(name="fanout")
)
