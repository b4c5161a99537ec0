// A chat agent: asks for the weather with a tool, streams the tool's arguments, and answers with wide characters.

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

import { call, Scripted, text, usage } from "./scripted.mjs";

async function chat({ messages }) {
  const turn = messages.filter((message) => HumanMessage.isInstance(message)).length;
  const script = ToolMessage.isInstance(messages.at(-1))
    ? [
        ...text("In ", "Kraków ", "☀", " it is ", "21 °C", ", in ", "東京", " it rains", ` (${turn}).`),
        ...usage(48, 12, "stop"),
      ]
    : [
        ...text("Let me ", "look ", "that ", "up."),
        ...call("weather", `call_${turn}`, '{"ci', 'ty": "Kra', 'ków", "unit', '": "C"}'),
        ...usage(20, 9, "tool_calls"),
      ];
  return { messages: [await new Scripted({ script }).invoke(messages)] };
}

async function tools({ messages }) {
  return {
    messages: messages
      .at(-1)
      .tool_calls.map(
        ({ id, name, args }) => new ToolMessage({ content: `${args.city}: 21 °C, sunny ☀`, tool_call_id: id, name }),
      ),
  };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("chat", chat)
  .addNode("tools", tools)
  .addEdge(START, "chat")
  .addConditionalEdges("chat", ({ messages }) => (messages.at(-1).tool_calls?.length ? "tools" : END), ["tools", END])
  .addEdge("tools", "chat")
  .compile({ name: "agent" });
