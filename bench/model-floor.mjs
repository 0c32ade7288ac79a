// The least that an agent does: asks, reads what is asked for, asks again. No policy, no record, no view.
import { open } from "node:fs/promises";

const [url, file] = process.argv.slice(2);
const messages = [{ role: "user", content: "Read the file" }];
for (;;) {
  const body = JSON.stringify({ model: "m", messages, stream: false });
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body });
  const { message } = (await response.json()).choices[0];
  if (message.tool_calls === undefined) break;
  messages.push({ role: "assistant", content: message.content, tool_calls: message.tool_calls });
  for (const call of message.tool_calls) {
    const { offset } = JSON.parse(call.function.arguments);
    const handle = await open(file);
    const { buffer } = await handle.read({ buffer: Buffer.alloc(4096), position: (offset - 1) * 64 });
    await handle.close();
    messages.push({ role: "tool", tool_call_id: call.id, content: buffer.toString() });
  }
}
