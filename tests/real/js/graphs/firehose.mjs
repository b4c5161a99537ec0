// Sends numbered events as fast as it can, so that losses can be counted.
//
// `{"n": N, "pad": P}` sends N custom events with P characters of padding each, `{"tokens": N}` sends N tokens.
// With `burst` and `pause` it rests `pause` seconds after every `burst` events.

import { setTimeout as sleep } from "node:timers/promises";

import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

import { Scripted, text, usage } from "./scripted.mjs";

const State = Annotation.Root({
  n: Annotation(),
  pad: Annotation(),
  burst: Annotation(),
  pause: Annotation(),
  tokens: Annotation(),
  done: Annotation(),
});

async function pour({ n = 0, pad = 0, burst = 0, pause = 0, tokens = 0 }, config) {
  const padding = "x".repeat(pad);
  for (let seq = 0; seq < n; seq += 1) {
    config.writer?.({ seq, pad: padding });
    if (burst && (seq + 1) % burst === 0) await sleep(pause * 1000, undefined, { signal: config.signal });
  }
  if (tokens) {
    const pieces = Array.from({ length: tokens }, (_, i) => `t${i} `);
    await new Scripted({ script: [...text(...pieces), ...usage(1, tokens, "stop")] }).invoke("pour");
  }
  return { done: true };
}

export const graph = new StateGraph(State)
  .addNode("pour", pour)
  .addEdge(START, "pour")
  .addEdge("pour", END)
  .compile({ name: "firehose" });
