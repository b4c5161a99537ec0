// An agent of langchain's createAgent with its human-in-the-loop middleware, which asks for two approvals in one batch.
// The counterpart of `batch` in ../../graphs/agents.py, with the names that JavaScript uses.

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { createAgent, humanInTheLoopMiddleware, tool } from "langchain";
import { z } from "zod";

import { call, Scripted, text, usage } from "./scripted.mjs";

class Office extends Scripted {
  bindTools() {
    return this;
  }

  scriptFor(messages) {
    if (ToolMessage.isInstance(messages.at(-1))) return [...text("Both ", "are ", "settled."), ...usage(48, 12, "stop")];
    const turn = messages.filter((message) => HumanMessage.isInstance(message)).length;
    return [
      ...text("I mail Ann ", "and delete the old file."),
      ...call("send_email", `mail_${turn}`, '{"to": "ann@example.com", ', '"body": "Lunch at 12?"}'),
      ...call("delete_file", `file_${turn}`, '{"path": ', '"/app/old.txt"}').map((chunk) => at(chunk, 1)),
      ...usage(20, 9, "tool_calls"),
    ];
  }
}

function at(chunk, index) {
  return { ...chunk, tool_call_chunks: chunk.tool_call_chunks.map((one) => ({ ...one, index })) };
}

const sendEmail = tool(async ({ to, body }) => `sent to ${to}: ${body}`, {
  name: "send_email",
  description: "Sends an email.",
  schema: z.object({ to: z.string(), body: z.string() }),
});
const deleteFile = tool(async ({ path }) => `deleted ${path}`, {
  name: "delete_file",
  description: "Deletes a file.",
  schema: z.object({ path: z.string() }),
});
const approvals = humanInTheLoopMiddleware({
  interruptOn: {
    send_email: { allowedDecisions: ["approve", "edit", "reject"] },
    delete_file: { allowedDecisions: ["approve", "reject"] },
  },
});

export const hitl = createAgent({
  model: new Office({ script: [] }),
  tools: [sendEmail, deleteFile],
  middleware: [approvals],
  name: "hitl",
}).graph;
