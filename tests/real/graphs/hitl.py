"""Asks for approval of two tool calls, with the payload of langchain's human-in-the-loop middleware.

The node fails like the middleware does: when the number of decisions is wrong, or a decision is not allowed.
"""

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

REQUESTS = [
    {
        "name": "send_email",
        "args": {"to": "ann@example.com", "body": "Lunch at 12?"},
        "description": "Send an email to ann@example.com",
    },
    {"name": "delete_file", "args": {"path": "/app/a"}, "description": "Delete /app/a"},
]
ALLOWED = {"send_email": ["approve", "edit", "reject", "respond"], "delete_file": ["approve", "reject"]}
CONFIGS = [{"action_name": name, "allowed_decisions": allowed} for name, allowed in ALLOWED.items()]


class State(TypedDict, total=False):
    decisions: list[dict[str, Any]]


async def review(state: State) -> dict:
    decisions = interrupt({"action_requests": REQUESTS, "review_configs": CONFIGS})["decisions"]
    if len(decisions) != len(REQUESTS):
        raise ValueError(
            f"Number of human decisions ({len(decisions)}) does not match number of hanging tool calls ({len(REQUESTS)})."
        )
    for request, decision in zip(REQUESTS, decisions, strict=True):
        allowed = ALLOWED[request["name"]]
        if decision["type"] not in allowed:
            raise ValueError(f"Decision '{decision['type']}' is not allowed for tool '{request['name']}' ({allowed}).")
    return {"decisions": decisions}


graph = StateGraph(State).add_node("review", review).add_edge(START, "review").add_edge("review", END).compile(name="hitl")
