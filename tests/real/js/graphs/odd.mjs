// What only JavaScript sends: halves of emoji (`emoji` streams UTF-16 units, as a client that slices strings does) and
// values that JSON does not have (`odd`).

import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

import { Scripted, text, usage } from "./scripted.mjs";

const script = [...text(..."Deployed 🚀 ok 👩‍🔬".split("")), ...usage(5, 17, "stop")];

export const emoji = new StateGraph(MessagesAnnotation)
  .addNode("chat", async ({ messages }) => ({ messages: [await new Scripted({ script }).invoke(messages)] }))
  .addEdge(START, "chat")
  .addEdge("chat", END)
  .compile({ name: "emoji" });

const State = Annotation.Root({ x: Annotation() });

const x = {
  nan: NaN,
  inf: Infinity,
  undef: undefined,
  big: 2 ** 70,
  date: new Date(0),
  map: new Map([["a", 1]]),
  neg: -0,
  half: "\ud83d",
};

export const odd = new StateGraph(State)
  .addNode("values", async () => ({ x }))
  .addEdge(START, "values")
  .addEdge("values", END)
  .compile({ name: "odd" });
