// Asks two questions at once, from two parallel nodes. Each can be answered by the id of its interrupt.

import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({
  answers: Annotation({ reducer: (answers, more) => answers.concat(more), default: () => [] }),
});

function ask(side) {
  return async () => {
    const answer = interrupt({ question: `Go ${side}?`, side });
    return { answers: [{ side, answer }] };
  };
}

async function done({ answers }) {
  return { answers: [{ side: "done", answer: answers.length }] };
}

export const graph = new StateGraph(State)
  .addNode("left", ask("left"))
  .addNode("right", ask("right"))
  .addNode("done", done)
  .addEdge(START, "left")
  .addEdge(START, "right")
  .addEdge(["left", "right"], "done")
  .addEdge("done", END)
  .compile({ name: "two" });
