"""Agents as people build them, each with a model that plays a script: langchain's `create_agent` (plain, and with its
human-in-the-loop middleware in both modes), deepagents with two subagents of one name at once, and a supervisor."""

import sys
from pathlib import Path

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, TodoListMiddleware
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph_supervisor import create_supervisor

sys.path.insert(0, str(Path(__file__).parent))
from scripted import Playing, call, text, usage  # noqa: E402


@tool
def get_weather(city: str) -> dict:
    """The weather in a city."""
    return {"city": city, "temp": 21, "sky": "sunny ☀"}


@tool
def search(query: str) -> list[dict]:
    """Searches the web."""
    return [{"type": "text", "text": f"Result 1 for {query}"}, {"type": "text", "text": "Result 2: *bring sunscreen*"}]


@tool
def send_email(to: str, body: str) -> str:
    """Sends an email."""
    return f"sent to {to}: {body}"


@tool
def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"deleted {path}"


def answered(messages: list[BaseMessage]) -> int:
    """The number of tool results since the last turn of the user."""
    turn = max((at for at, one in enumerate(messages) if one.type == "human"), default=0)
    return sum(isinstance(one, ToolMessage) for one in messages[turn:])


def turn(messages: list[BaseMessage]) -> int:
    return sum(one.type == "human" for one in messages)


def end(*pieces: str) -> list[AIMessageChunk]:
    return text(*pieces) + usage(812, 96, "end_turn")


def ask(*calls: list[AIMessageChunk]) -> list[AIMessageChunk]:
    return [chunk for one in calls for chunk in one] + usage(812, 96, "tool_use")


def play_react(messages: list[BaseMessage]) -> list[AIMessageChunk]:
    if answered(messages):
        return end("## Kraków today\n\n", "It is **21 °C** ", "and sunny.\n\n", "1. Walk along the *Planty*\n", "2. Bring sunscreen\n")
    weather = call("get_weather", f"weather_{turn(messages)}", '{"city": ', '"Kraków"}')
    tips = call("search", f"search_{turn(messages)}", '{"query": ', '"sunny day"}', index=1)
    return text("I check the weather ", "and look for tips.") + ask(weather, tips)


react = create_agent(Playing(play=play_react), [get_weather, search], name="react")


def play_office(messages: list[BaseMessage]) -> list[AIMessageChunk]:
    if answered(messages):
        return end("Both ", "are ", "settled.")
    mail = call("send_email", f"mail_{turn(messages)}", '{"to": "ann@example.com", ', '"body": "Lunch at 12?"}')
    file = call("delete_file", f"file_{turn(messages)}", '{"path": ', '"/app/old.txt"}', index=1)
    return text("I mail Ann ", "and delete the old file.") + ask(mail, file)


def office(mode: str, name: str):
    asked = {"send_email": True, "delete_file": {"allowed_decisions": ["approve", "reject"]}}
    approvals = HumanInTheLoopMiddleware(asked, interrupt_mode=mode)
    return create_agent(Playing(play=play_office), [send_email, delete_file], middleware=[approvals], name=name)


batch = office("batched", "batch")
percall = office("per_call", "percall")

TODOS = '[{{"content": "Research Kraków and Oslo", "status": "{}"}}, {{"content": "Write the report", "status": "{}"}}]'


def play_deep(messages: list[BaseMessage]) -> list[AIMessageChunk]:
    steps = [
        ask(call("write_todos", "todos_1", '{"todos": ', TODOS.format("in_progress", "pending"), "}")),
        ask(
            *(
                call("task", f"task_{city}", f'{{"description": "Research {city}", ', '"subagent_type": "researcher"}', index=at)
                for at, city in enumerate(["Kraków", "Oslo"])
            )
        ),
        ask(call("write_file", "file_1", '{"file_path": "/report.md", ', '"content": "# Report\\n\\nKraków: a dragon.\\n"}')),
        ask(call("write_todos", "todos_2", '{"todos": ', TODOS.format("completed", "completed"), "}")),
        end("The report ", "is in ", "**/report.md**."),
    ]
    return steps[(0, 1, 1, 2, 3, 4)[min(answered(messages), 5)]]


def play_researcher(messages: list[BaseMessage]) -> list[AIMessageChunk]:
    topic = next(one.text for one in messages if one.type == "human").removeprefix("Research ")
    if answered(messages):
        return end("Findings ", f"on {topic}: ", "churches ", "and a dragon.")
    return ask(call("search", f"search_{topic}", '{"query": ', f'"{topic}"}}'))


researcher = {
    "name": "researcher",
    "description": "Researches one city.",
    "system_prompt": "Research it.",
    "tools": [search],
    "model": Playing(play=play_researcher, pause=0.02),
}
deep = create_deep_agent(
    Playing(play=play_deep, pause=0.02), subagents=[researcher], middleware=[TodoListMiddleware()], name="deep"
)


def play_supervisor(messages: list[BaseMessage]) -> list[AIMessageChunk]:
    if any(one.name == "weather_expert" for one in messages if one.type == "ai"):
        return end("The expert ", "says: ", "21 °C.")
    return ask(call("transfer_to_weather_expert", f"transfer_{turn(messages)}", "{}"))


def play_expert(messages: list[BaseMessage]) -> list[AIMessageChunk]:
    if any(isinstance(one, ToolMessage) and one.name == "get_weather" for one in messages):
        return end("It is ", "21 °C ", "in Kraków.")
    return ask(call("get_weather", "weather_1", '{"city": ', '"Kraków"}'))


expert = create_agent(Playing(play=play_expert), [get_weather], name="weather_expert")
supervisor = create_supervisor([expert], model=Playing(play=play_supervisor)).compile(name="supervisor")
