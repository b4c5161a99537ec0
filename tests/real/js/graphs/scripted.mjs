// A chat model that streams a script instead of calling a provider, so that every run produces the same chunks.
// The counterpart of ../../graphs/scripted.py.

import { setTimeout as sleep } from "node:timers/promises";

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";

/** One chunk per piece of text. */
export function text(...pieces) {
  return pieces.map((content) => ({ content }));
}

/** A tool call whose arguments grow: the first chunk carries the name, later ones only more of the JSON. */
export function call(name, id, ...args) {
  const chunk = (fields) => ({ content: "", tool_call_chunks: [{ type: "tool_call_chunk", index: 0, ...fields }] });
  return [chunk({ name, id, args: "" }), ...args.map((piece) => chunk({ args: piece }))];
}

/** The empty chunk that ends an answer, with its token usage and finish reason. */
export function usage(input, output, reason) {
  return [
    {
      content: "",
      usage_metadata: { input_tokens: input, output_tokens: output, total_tokens: input + output },
      response_metadata: { finish_reason: reason, model_name: "scripted-1" },
    },
  ];
}

/** Streams `script` whatever the prompt is; waits `pause` seconds before each chunk. */
export class Scripted extends BaseChatModel {
  constructor({ script, pause = 0 }) {
    super({});
    this.script = script;
    this.pause = pause;
  }

  _llmType() {
    return "scripted";
  }

  /** What is streamed after these messages. */
  scriptFor(_messages) {
    return this.script;
  }

  async *_streamResponseChunks(messages, options, runManager) {
    for (const fields of this.scriptFor(messages)) {
      if (this.pause) await sleep(this.pause * 1000, undefined, { signal: options.signal });
      const chunk = new ChatGenerationChunk({ message: new AIMessageChunk(fields), text: fields.content });
      yield chunk;
      await runManager?.handleLLMNewToken(fields.content, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  async _generate(messages, options, runManager) {
    let whole;
    for await (const chunk of this._streamResponseChunks(messages, options, runManager)) {
      whole = whole ? whole.concat(chunk) : chunk;
    }
    return { generations: [whole] };
  }
}
