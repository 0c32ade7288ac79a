/**
 * A tool loop on a provider package of the AI SDK, without the `ai` package. With it, pass the same tools directly:
 * generateText({ model, prompt, tools: aiSdkTools(runtime), stopWhen: stepCountIs(20) }).
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { aiSdkFunctionTools, createRuntime, runAiSdkToolCall } from "autonous";

const { MODEL_BASE_URL = "http://127.0.0.1:11434/v1", MODEL_API_KEY = "none", MODEL = "qwen3" } = process.env;
const text = process.argv.slice(2).join(" ") || "Which files are here?";

const model = createOpenAICompatible({ name: "local", baseURL: MODEL_BASE_URL, apiKey: MODEL_API_KEY })(MODEL);
const runtime = await createRuntime({ roots: [process.cwd()] });
const tools = aiSdkFunctionTools(runtime, { tools: ["ls", "read", "grep"] });
const prompt: LanguageModelV4Prompt = [{ role: "user", content: [{ type: "text", text }] }];
for (let turn = 0; turn < 20; turn++) {
  const { content } = await model.doGenerate({ prompt, tools });
  const calls = content.filter((part) => part.type === "tool-call");
  const said = content.filter((part) => part.type === "text");
  if (calls.length === 0) {
    console.log(said.map((part) => part.text).join(""));
    break;
  }
  const requested = calls.map((call) => ({ ...call, input: JSON.parse(call.input) as unknown }));
  prompt.push({ role: "assistant", content: [...said, ...requested] });
  const results = [];
  for (const call of calls) results.push(await runAiSdkToolCall(runtime, call));
  prompt.push({ role: "tool", content: results });
}
await runtime.close();
