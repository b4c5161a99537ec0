// Stops at an interrupt and continues with the answer. JavaScript does not allow a node to be named like a state key, so
// the node that Python calls `draft` is `prepare` here.

import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({
  amount: Annotation(),
  draft: Annotation(),
  decision: Annotation(),
  log: Annotation({ reducer: (log, more) => log.concat(more), default: () => [] }),
});

async function prepare({ amount = 5 }) {
  return { draft: `send ${amount} EUR`, log: ["drafted"] };
}

async function ask({ amount = 5 }) {
  const decision = interrupt({ question: "Send it — tak czy nie?", amount });
  return { decision, log: ["asked"] };
}

async function act({ decision }) {
  const isObject = typeof decision === "object" && decision !== null;
  const approved = isObject ? decision.approved : decision;
  return { log: [approved ? "sent" : "dropped"] };
}

export const graph = new StateGraph(State)
  .addNode("prepare", prepare)
  .addNode("ask", ask)
  .addNode("act", act)
  .addEdge(START, "prepare")
  .addEdge("prepare", "ask")
  .addEdge("ask", "act")
  .addEdge("act", END)
  .compile({ name: "approval" });
