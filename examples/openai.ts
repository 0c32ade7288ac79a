/** A tool loop with fetch and OpenAI's chat completions, or any compatible server; the tools are governed. */
import { createRuntime, openAiChatTools, runOpenAiToolCall } from "autonous";
import type { OpenAiChatCall } from "autonous";

const { OPENAI_BASE_URL = "https://api.openai.com/v1", OPENAI_API_KEY = "", OPENAI_MODEL = "gpt-6-sol" } = process.env;
const task = process.argv.slice(2).join(" ") || "Which files are here?";

interface Reply {
  choices: [{ message: { role: "assistant"; content: string | null; tool_calls?: OpenAiChatCall[] } }];
}

async function complete(body: object): Promise<Reply["choices"][0]["message"]> {
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify({ model: OPENAI_MODEL, ...body }),
  });
  if (!response.ok) throw new Error(`The model did not answer: ${response.status} ${await response.text()}`);
  return ((await response.json()) as Reply).choices[0].message;
}

const runtime = await createRuntime({ roots: [process.cwd()], known_secrets: [OPENAI_API_KEY] });
const tools = openAiChatTools(runtime, { tools: ["ls", "read", "grep"] });
const messages: object[] = [{ role: "user", content: task }];
for (let turn = 0; turn < 20; turn++) {
  const message = await complete({ messages, tools });
  messages.push(message);
  if (message.tool_calls === undefined || message.tool_calls.length === 0) {
    console.log(message.content);
    break;
  }
  for (const call of message.tool_calls) messages.push(await runOpenAiToolCall(runtime, call));
}
await runtime.close();
