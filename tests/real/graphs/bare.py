"""A state that is not an object but a string, or null."""

from langgraph.graph import END, START, StateGraph


async def say(state: str | None) -> str:
    return f"{state} — said"


async def nothing(state: str | None) -> str | None:
    return None


graph = (
    StateGraph(str | None)
    .add_node("say", say)
    .add_node("nothing", nothing)
    .add_edge(START, "say")
    .add_edge("say", "nothing")
    .add_edge("nothing", END)
    .compile(name="bare")
)
