// Takes its time. `{"seconds": S}` waits S seconds in silence; with `every` it reports its progress that often.
// `{"steps": N, "seconds": S}` reports its progress N times, S seconds apart.

import { setTimeout as sleep } from "node:timers/promises";

import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({
  seconds: Annotation(),
  every: Annotation(),
  steps: Annotation(),
  done: Annotation(),
});

async function wait({ steps, seconds, every = 0 }, config) {
  const rest = (duration) => sleep(duration * 1000, undefined, { signal: config.signal });
  if (steps !== undefined) {
    for (let i = 0; i < steps; i += 1) {
      await rest(seconds ?? 1);
      config.writer?.({ progress: i });
    }
    return { done: true };
  }
  let left = seconds ?? 12;
  for (let i = 0; every && left > every; i += 1) {
    await rest(every);
    left -= every;
    config.writer?.({ progress: i });
  }
  await rest(left);
  return { done: true };
}

export const graph = new StateGraph(State)
  .addNode("wait", wait)
  .addEdge(START, "wait")
  .addEdge("wait", END)
  .compile({ name: "slow" });
