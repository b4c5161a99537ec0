"""Graphs that keep their messages in unusual ways: under another key, replaced as a whole, summarized, or with cards
(generative UI). With `pause` a node waits that many seconds."""

import asyncio
import operator
from typing import Annotated

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.graph.ui import AnyUIMessage, push_ui_message, ui_message_reducer
from langgraph.types import Overwrite
from typing_extensions import TypedDict


def chain(state: type, **nodes):
    """A graph that runs its nodes one after another."""
    graph, before = StateGraph(state), START
    for name, node in nodes.items():
        graph.add_node(name, node).add_edge(before, name)
        before = name
    return graph.add_edge(before, END)


def said(key: str, text: str, message_id: str):
    async def node(state: dict) -> dict:
        return {key: [AIMessage(content=text, id=message_id)]}

    return node


class Added(TypedDict, total=False):
    messages: Annotated[list, operator.add]


async def trim(state: Added) -> dict:
    return {"messages": Overwrite([HumanMessage(content="summary of it", id="h9")])}


overwrite = chain(
    Added, talk=said("messages", "first answer", "a1"), trim=trim, last=said("messages", "last answer", "a9")
).compile(name="overwrite")


class Other(TypedDict, total=False):
    chat_history: Annotated[list[AnyMessage], add_messages]
    user_query: str


otherkey = chain(Other, answer=said("chat_history", "Done: refunded.", "a1")).compile(name="otherkey")


class Cards(TypedDict, total=False):
    messages: Annotated[list, add_messages]
    ui: Annotated[list[AnyUIMessage], ui_message_reducer]


async def cards(state: Cards) -> dict:
    message = AIMessage(content="card below", id="a1")
    card = push_ui_message("weather", {"city": "Kraków", "t": 3}, message=message)
    push_ui_message("weather", {"t": 4}, id=card["id"], merge=True, message=message)
    return {"messages": [message]}


uigraph = chain(Cards, ui=cards).compile(name="uigraph")


class Talk(TypedDict, total=False):
    messages: Annotated[list, add_messages]
    pause: float


async def before_model(state: Talk) -> dict:
    """Replaces four messages or more by a summary and the last message, like langchain's summarization middleware."""
    messages = state["messages"]
    if len(messages) < 4:
        return {}
    summary = HumanMessage(content="Summary: asked twice.", id=f"sum-{messages[-1].id}")
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, messages[-1]]}


async def model(state: Talk) -> dict:
    await asyncio.sleep(state.get("pause", 0.2))
    asked = [one for one in state["messages"] if one.type == "human"][-1]
    return {"messages": [AIMessage(content=f"reply to {asked.content}", id=f"r-{asked.id}")]}


summ = chain(Talk, before_model=before_model, model=model).compile(name="summ")
