// Asks what the input says, in any format: one interrupt for each payload of `asks`, all at once, and keeps the answers.

import { Annotation, END, interrupt, Send, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({
  asks: Annotation(),
  payload: Annotation(),
  at: Annotation(),
  answers: Annotation({ reducer: (answers, more) => answers.concat(more), default: () => [] }),
});

async function ask({ payload, at }) {
  return { answers: [{ at, answer: interrupt(payload) }] };
}

export const graph = new StateGraph(State)
  .addNode("ask", ask)
  .addConditionalEdges(START, ({ asks }) => asks.map((payload, at) => new Send("ask", { payload, at })), ["ask"])
  .addEdge("ask", END)
  .compile({ name: "ask" });
