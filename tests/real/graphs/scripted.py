"""A chat model that streams a script instead of calling a provider, so that every run produces the same chunks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, message_chunk_to_message
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult


def text(*pieces: str) -> list[AIMessageChunk]:
    """One chunk for each piece of text."""
    return [AIMessageChunk(content=piece) for piece in pieces]


def call(name: str, call_id: str, *args: str, index: int = 0) -> list[AIMessageChunk]:
    """A tool call whose arguments grow: the first chunk has the name, the later ones only more of the JSON."""
    head = tool_call_chunk(name=name, args="", id=call_id, index=index)
    rest = [tool_call_chunk(name=None, args=piece, id=None, index=index) for piece in args]
    return [AIMessageChunk(content="", tool_call_chunks=[chunk]) for chunk in [head, *rest]]


def usage(given: int, made: int, reason: str) -> list[AIMessageChunk]:
    """The empty chunk that ends an answer: what it cost, and why it stopped."""
    return [
        AIMessageChunk(
            content="",
            usage_metadata={"input_tokens": given, "output_tokens": made, "total_tokens": given + made},
            response_metadata={"finish_reason": reason, "model_name": "scripted-1"},
        )
    ]


class Scripted(BaseChatModel):
    """Streams `script`, whatever it is asked; rests `pause` seconds before each piece."""

    script: list[Any]
    pause: float = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _pieces(self, messages: list[BaseMessage]) -> list[Any]:
        return self.script

    def _chunks(self, messages: list[BaseMessage]) -> Iterator[ChatGenerationChunk]:
        for message in self._pieces(messages):
            yield ChatGenerationChunk(message=message.model_copy(deep=True))

    def _generate(self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any) -> ChatResult:
        whole = None
        for chunk in self._chunks(messages):
            whole = chunk if whole is None else whole + chunk
        return ChatResult(generations=[ChatGeneration(message=message_chunk_to_message(whole.message))])

    def _stream(
        self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            if run_manager:
                run_manager.on_llm_new_token(chunk.message.content, chunk=chunk)
            yield chunk

    async def _astream(
        self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            if self.pause:
                await asyncio.sleep(self.pause)
            if run_manager:
                await run_manager.on_llm_new_token(chunk.message.content, chunk=chunk)
            yield chunk


class Playing(Scripted):
    """Streams what `play` makes of the messages so far. Agents bind their tools to it."""

    script: list[Any] = []
    play: Callable[[list[BaseMessage]], list[AIMessageChunk]]

    def _pieces(self, messages: list[BaseMessage]) -> list[Any]:
        return self.play(messages)

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Playing":
        return self
