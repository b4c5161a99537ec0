"""Stops at an interrupt, and continues with the answer."""

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    amount: int
    draft: str
    decision: Any
    log: Annotated[list[str], operator.add]


async def draft(state: State) -> dict:
    return {"draft": f"send {state.get('amount', 5)} EUR", "log": ["drafted"]}


async def ask(state: State) -> dict:
    decision = interrupt({"question": "Send it — tak czy nie?", "amount": state.get("amount", 5)})
    return {"decision": decision, "log": ["asked"]}


async def act(state: State) -> dict:
    decision = state.get("decision")
    approved = decision.get("approved") if isinstance(decision, dict) else bool(decision)
    return {"log": ["sent" if approved else "dropped"]}


graph = (
    StateGraph(State)
    .add_node("draft", draft)
    .add_node("ask", ask)
    .add_node("act", act)
    .add_edge(START, "draft")
    .add_edge("draft", "ask")
    .add_edge("ask", "act")
    .add_edge("act", END)
    .compile(name="approval")
)
