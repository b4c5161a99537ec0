"""A chat agent: asks for the weather with a tool, whose arguments stream, and answers with wide characters."""

import sys
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

sys.path.insert(0, str(Path(__file__).parent))
from scripted import Scripted, call, text, usage  # noqa: E402


def turn(state: MessagesState) -> int:
    """The number of this turn, from 1."""
    return sum(isinstance(message, HumanMessage) for message in state["messages"])


async def chat(state: MessagesState) -> dict:
    if isinstance(state["messages"][-1], ToolMessage):
        script = text("In ", "Kraków ", "☀", " it is ", "21 °C", ", in ", "東京", " it rains", f" ({turn(state)}).")
        script += usage(48, 12, "stop")
    else:
        script = text("Let me ", "look ", "that ", "up.")
        script += call("weather", f"call_{turn(state)}", '{"ci', 'ty": "Kra', 'ków", "unit', '": "C"}')
        script += usage(20, 9, "tool_calls")
    return {"messages": [await Scripted(script=script).ainvoke(state["messages"])]}


async def tools(state: MessagesState) -> dict:
    asked = state["messages"][-1].tool_calls
    return {
        "messages": [
            ToolMessage(content=f"{one['args']['city']}: 21 °C, sunny ☀", tool_call_id=one["id"], name=one["name"])
            for one in asked
        ]
    }


def after_chat(state: MessagesState) -> str:
    last = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and last.tool_calls else END


graph = (
    StateGraph(MessagesState)
    .add_node("chat", chat)
    .add_node("tools", tools)
    .add_edge(START, "chat")
    .add_conditional_edges("chat", after_chat, ["tools", END])
    .add_edge("tools", "chat")
    .compile(name="agent")
)
