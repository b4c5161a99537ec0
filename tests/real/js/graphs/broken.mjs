// Finishes one step, then fails.

import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({
  log: Annotation({ reducer: (log, more) => log.concat(more), default: () => [] }),
});

async function boom() {
  throw new Error("boom: the node failed — détails");
}

export const graph = new StateGraph(State)
  .addNode("first", async () => ({ log: ["first"] }))
  .addNode("boom", boom)
  .addEdge(START, "first")
  .addEdge("first", "boom")
  .addEdge("boom", END)
  .compile({ name: "broken" });
