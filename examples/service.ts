/** The service inside another program: a queue, a worker process and HTTP on loopback. */
import { createService } from "autonous";

const service = await createService({
  roots: [process.cwd()],
  port: 0, // a free one
  model: process.env["AUTONOUS_MODEL"] ?? "direct",
  log: (line) => console.error(line),
});

// Submit a task; its events come back as server-sent events, the answer last.
const events = await fetch(`${service.url}/api/tasks`, {
  method: "POST",
  headers: { authorization: `Bearer ${service.token}`, "content-type": "application/json" },
  body: JSON.stringify({ text: process.argv.slice(2).join(" ") || "/ls ." }),
});
let text = "";
for await (const piece of events.body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
for (const [, type, data = ""] of text.matchAll(/^event: (.*)\ndata: (.*)$/gm)) {
  if (type !== "reply") console.log(type);
  else console.log((JSON.parse(data) as { text: string }).text.trimEnd());
}
await service.close();
