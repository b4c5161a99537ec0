// Parallel nodes next to a subgraph that contains another subgraph, both streaming tokens.

import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

import { Scripted, text, usage } from "./scripted.mjs";

const State = Annotation.Root({
  topic: Annotation(),
  notes: Annotation({ reducer: (notes, more) => notes.concat(more), default: () => [] }),
  answer: Annotation(),
});

const Deep = Annotation.Root({ topic: Annotation(), answer: Annotation() });

function side(name) {
  return async ({ topic = "" }, config) => {
    for (let i = 0; i < 3; i += 1) config.writer?.({ node: name, i });
    return { notes: [`${name}: ${topic}`] };
  };
}

async function think({ topic = "nothing" }, config) {
  config.writer?.({ node: "think", depth: 2 });
  const script = [...text("deep ", "thoughts ", "on ", topic), ...usage(5, 4, "stop")];
  const answer = await new Scripted({ script }).invoke("think");
  return { answer: answer.content };
}

async function prepare({ topic = "nothing" }, config) {
  config.writer?.({ node: "prepare", depth: 1 });
  await new Scripted({ script: [...text("shallow ", "thoughts"), ...usage(3, 2, "stop")] }).invoke("prepare");
  return { topic };
}

const inner = new StateGraph(Deep)
  .addNode("think", think)
  .addEdge(START, "think")
  .addEdge("think", END)
  .compile({ name: "inner" });

const sub = new StateGraph(Deep)
  .addNode("prepare", prepare)
  .addNode("inner", inner)
  .addEdge(START, "prepare")
  .addEdge("prepare", "inner")
  .addEdge("inner", END)
  .compile({ name: "sub" });

export const graph = new StateGraph(State)
  .addNode("plan", async () => ({ notes: ["planned"] }))
  .addNode("left", side("left"))
  .addNode("right", side("right"))
  .addNode("sub", sub)
  .addNode("join", async ({ answer = "" }) => ({ notes: [`joined: ${answer}`] }))
  .addEdge(START, "plan")
  .addEdge("plan", "left")
  .addEdge("plan", "right")
  .addEdge("plan", "sub")
  .addEdge(["left", "right", "sub"], "join")
  .addEdge("join", END)
  .compile({ name: "fanout" });
