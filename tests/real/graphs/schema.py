"""Asks a question whose interrupt carries a JSON Schema for the answer."""

from typing import Any, Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, Field


class Review(BaseModel):
    """The reviewer's decision."""

    approve: bool = Field(description="Send the draft?")
    score: int = Field(default=5, ge=0, le=10)
    colour: Literal["red", "green", "blue"]
    note: str | None = None


class State(TypedDict, total=False):
    review: dict[str, Any]


async def ask(state: State) -> dict:
    review = interrupt({"question": "Review the draft"}, response_schema=Review)
    return {"review": review.model_dump()}


graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END).compile(name="schema")
