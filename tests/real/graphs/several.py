"""Asks two questions at once, one of them inside a subgraph."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    answers: Annotated[list[str], operator.add]


async def ask(state: State) -> dict:
    return {"answers": [f"here: {interrupt({'question': 'Go on here?'})}"]}


async def ask_inside(state: State) -> dict:
    return {"answers": [f"inside: {interrupt('Go on inside?')}"]}


inside = StateGraph(State).add_node("ask_inside", ask_inside).add_edge(START, "ask_inside").compile(name="inside")


async def done(state: State) -> dict:
    return {"answers": ["done"]}


graph = (
    StateGraph(State)
    .add_node("ask", ask)
    .add_node("inside", inside)
    .add_node("done", done)
    .add_edge(START, "ask")
    .add_edge(START, "inside")
    .add_edge(["ask", "inside"], "done")
    .add_edge("done", END)
    .compile(name="several")
)
