/** A tool loop with fetch and Anthropic's messages; the tools are governed. */
import { anthropicTools, createRuntime, runAnthropicToolUses } from "autonous";
import type { AnthropicBlock } from "autonous";

const { ANTHROPIC_BASE_URL = "https://api.anthropic.com", ANTHROPIC_API_KEY = "" } = process.env;
const { ANTHROPIC_MODEL = "claude-sonnet-5-5" } = process.env;
const task = process.argv.slice(2).join(" ") || "Which files are here?";

interface Reply {
  content: (AnthropicBlock & { text?: string })[];
  stop_reason: string;
}

async function ask(body: object): Promise<Reply> {
  const response = await fetch(`${ANTHROPIC_BASE_URL}/v1/messages`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-api-key": ANTHROPIC_API_KEY,
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify({ model: ANTHROPIC_MODEL, max_tokens: 4096, ...body }),
  });
  if (!response.ok) throw new Error(`The model did not answer: ${response.status} ${await response.text()}`);
  return (await response.json()) as Reply;
}

const runtime = await createRuntime({ roots: [process.cwd()], known_secrets: [ANTHROPIC_API_KEY] });
const tools = anthropicTools(runtime, { tools: ["ls", "read", "grep"] });
const messages: object[] = [{ role: "user", content: task }];
for (let turn = 0; turn < 20; turn++) {
  const { content, stop_reason } = await ask({ messages, tools });
  messages.push({ role: "assistant", content });
  if (stop_reason !== "tool_use") {
    console.log(content.map(({ text = "" }) => text).join(""));
    break;
  }
  messages.push({ role: "user", content: await runAnthropicToolUses(runtime, content) });
}
await runtime.close();
