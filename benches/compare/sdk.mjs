// Reads a stream with the official JavaScript SDK, and counts its events.
import { Client } from "@langchain/langgraph-sdk";

const [thread, run] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
const client = new Client({ apiUrl: process.argv[2], apiKey: null });
let events = 0;
for await (const _ of client.runs.joinStream(thread, run)) events += 1;
console.log(events);
