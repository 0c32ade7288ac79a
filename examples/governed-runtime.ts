/** A governed runtime in five lines. Run it in any folder: node governed-runtime.ts */
import { createRuntime } from "autonous";

const runtime = await createRuntime({ roots: [process.cwd()], profile: "guarded" });
const found = await runtime.call({ name: "grep", args: { pattern: "TODO", path: "." } });
console.log(found.ok, found.payload?.stdout.trimEnd());
const refused = await runtime.call({ name: "read", args: { path: "../elsewhere/notes.txt" } });
console.log(refused.ok, refused.error?.code);
for await (const event of runtime.events()) console.log(event.seq, event.type);
await runtime.close();
