"""Asks what the input says, in any format: one interrupt for each payload of `asks`, all at once, and keeps the answers."""

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt


class State(TypedDict, total=False):
    asks: list[Any]
    payload: Any
    at: int
    answers: Annotated[list[dict[str, Any]], operator.add]


def each(state: State) -> list[Send]:
    return [Send("ask", {"at": at, "payload": payload}) for at, payload in enumerate(state["asks"])]


async def ask(state: State) -> dict:
    answer = interrupt(state["payload"])
    return {"answers": [{"at": state["at"], "answer": answer}]}


graph = (
    StateGraph(State)
    .add_node("ask", ask)
    .add_conditional_edges(START, each, ["ask"])
    .add_edge("ask", END)
    .compile(name="ask")
)
