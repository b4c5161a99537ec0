"""Messages of every kind: reasoning, text blocks, an image, two parallel tool calls, one of which fails, and removed ones.

With `pause` the model waits that many seconds before each piece, so that clients can connect and disconnect meanwhile.
"""

import sys
from pathlib import Path

from langchain_core.messages import AIMessageChunk, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

sys.path.insert(0, str(Path(__file__).parent))
from scripted import Scripted, call, text, usage  # noqa: E402

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class State(MessagesState, total=False):
    pause: float


def blocks(*pieces: tuple[str, str]) -> list[AIMessageChunk]:
    """One chunk for each piece of a block: its kind (`reasoning` or `text`) and what it adds."""
    index = {"reasoning": 0, "text": 1}
    return [AIMessageChunk(content=[{"type": kind, kind: more, "index": index[kind]}]) for kind, more in pieces]


async def think(state: State) -> dict:
    script = blocks(("reasoning", "The person "), ("reasoning", "wants two cities."), ("text", "I look "), ("text", "at both."))
    script += call("weather", "call_a", '{"city": ', '"Kraków"}') + call("weather", "call_b", '{"city": ', '"東京"}', index=1)
    model = Scripted(script=script + usage(30, 12, "tool_calls"), pause=state.get("pause", 0))
    return {"messages": [await model.ainvoke(state["messages"])]}


async def tools(state: State) -> dict:
    first, second = state["messages"][-1].tool_calls
    image = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    picture = [{"type": "text", "text": "A picture:"}, image]
    return {
        "messages": [
            ToolMessage(content=picture, tool_call_id=first["id"], name=first["name"]),
            ToolMessage(content="no such city", tool_call_id=second["id"], name=second["name"], status="error"),
        ]
    }


async def note(state: State) -> dict:
    """A message that does not stay."""
    return {"messages": [HumanMessage(content="(a note that is removed)", id=f"note-{len(state['messages'])}")]}


async def forget(state: State) -> dict:
    notes = [one for one in state["messages"] if one.id.startswith("note-")]
    return {"messages": [RemoveMessage(id=one.id) for one in notes]}


async def answer(state: State) -> dict:
    pieces = ("# Weather\n\n", "| city | °C |\n", "|---|---|\n", "| Kraków | 21 |\n\n", "- **東京**: ", "unknown ☔\n\n")
    script = text(*pieces, "```json\n", '{"ok": true}', "\n```\n") + usage(60, 25, "stop")
    model = Scripted(script=script, pause=state.get("pause", 0))
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = (
    StateGraph(State)
    .add_node("think", think)
    .add_node("tools", tools)
    .add_node("note", note)
    .add_node("forget", forget)
    .add_node("answer", answer)
    .add_edge(START, "think")
    .add_edge("think", "tools")
    .add_edge("tools", "note")
    .add_edge("note", "forget")
    .add_edge("forget", "answer")
    .add_edge("answer", END)
    .compile(name="rich")
)
