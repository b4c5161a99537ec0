"""Asks two questions at once, from two parallel nodes. Each can be answered by the id of its interrupt."""

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    answers: Annotated[list[dict[str, Any]], operator.add]


def ask(side: str):
    async def node(state: State) -> dict:
        answer = interrupt({"question": f"Go {side}?", "side": side})
        return {"answers": [{"side": side, "answer": answer}]}

    return node


async def done(state: State) -> dict:
    return {"answers": [{"side": "done", "answer": len(state["answers"])}]}


graph = (
    StateGraph(State)
    .add_node("left", ask("left"))
    .add_node("right", ask("right"))
    .add_node("done", done)
    .add_edge(START, "left")
    .add_edge(START, "right")
    .add_edge(["left", "right"], "done")
    .add_edge("done", END)
    .compile(name="two")
)
