import { expect, test } from "vitest";
import { vendorsOf } from "./vendors.ts";

const KNOWN = [
  { model: "deepseek-chat", base_url: "https://api.deepseek.com/v1", gives: "deepseek deepseek" },
  { model: "deepseek-reasoner", base_url: "https://api.deepseek.com/anthropic", gives: "deepseek deepseek" },
  { model: "kimi-k2-thinking", base_url: "https://api.moonshot.cn/v1", gives: "kimi kimi" },
  { model: "m", base_url: "https://api.moonshot.ai/v1", gives: "kimi kimi" },
  { model: "qwen3-max", base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", gives: "qwen qwen" },
  { model: "devstral-medium", base_url: "https://api.mistral.ai/v1", gives: "mistral mistral" },
  { model: "grok-4-fast", base_url: "https://api.x.ai/v1", gives: "xai xai" },
  { model: "glm-4.6", base_url: "https://open.bigmodel.cn/api/paas/v4", gives: "zai zai" },
  { model: "GLM-4.6", base_url: "https://api.z.ai/api/anthropic", gives: "zai zai" },
  { model: "MiniMax-M2", base_url: "https://api.minimaxi.com/v1", gives: "minimax minimax" },
  { model: "anthropic/claude-sonnet-4.5", base_url: "https://openrouter.ai/api/v1", gives: "openrouter anthropic" },
  { model: "moonshotai/kimi-k2:free", base_url: "https://openrouter.ai/api/v1", gives: "openrouter kimi" },
  { model: "deepseek-ai/DeepSeek-V3.1", base_url: "https://api.together.xyz/v1", gives: "together deepseek" },
  { model: "openai/gpt-oss-120b", base_url: "https://api.groq.com/openai/v1", gives: "groq gpt-oss" },
  {
    model: "accounts/fireworks/models/kimi-k2-instruct",
    base_url: "https://api.fireworks.ai/inference/v1",
    gives: "fireworks kimi",
  },
  { model: "gpt-5", base_url: "https://api.githubcopilot.com", gives: "copilot openai" },
  { model: "qwen3:8b", base_url: "http://127.0.0.1:11434/v1", gives: "ollama qwen" },
  { model: "hf.co/unsloth/GLM-4.5-Air-GGUF:Q4", base_url: "http://localhost:11434/v1", gives: "ollama zai" },
  { model: "openai/gpt-oss-20b", base_url: "http://localhost:1234/v1", gives: "lmstudio gpt-oss" },
  { model: "moonshotai/Kimi-K2-Thinking", base_url: "http://10.0.0.4:8000/v1", gives: "other kimi" },
  { model: "/models/DeepSeek-V3.2", base_url: "http://10.0.0.4:8000/v1", gives: "other deepseek" },
  { model: "us.anthropic.claude-sonnet-4-5", base_url: "http://gateway.example/v1", gives: "other anthropic" },
  { model: "m", base_url: "http://127.0.0.1:1/deepseek/v1", gives: "deepseek deepseek" },
  { model: "m", base_url: "http://127.0.0.1:1/vllm/v1", gives: "vllm other" },
  { model: "kimi-k2", base_url: "http://127.0.0.1:1/sglang/v1", gives: "sglang kimi" },
  { model: "anthropic/claude-opus-4", base_url: "http://litellm.internal:4000", gives: "litellm anthropic" },
  { model: "m", base_url: "http://127.0.0.1:1/v1", gives: "other other" },
  { model: "my-openai-tune", base_url: "http://notdeepseek.com/v1", gives: "other other" },
  { model: "m", base_url: "not an address", gives: "other other" },
  { model: "gpt-5", base_url: "http://127.0.0.1:1/v1", kind: "openai", gives: "other openai" },
  { model: "m", base_url: "http://127.0.0.1:1/v1beta", kind: "google", gives: "other google" },
  { model: "m", base_url: "http://127.0.0.1:1/v1", kind: "anthropic", gives: "other other" },
  { model: "kimi-k2", base_url: "http://10.0.0.4:8000/v1", gives: "other kimi" },
  { model: "kimi-k2", base_url: "http://10.0.0.4:11434/v1", gives: "ollama kimi" },
] as const;

for (const { gives, ...addressed } of KNOWN) {
  test(`"${addressed.model}" at ${addressed.base_url} is served and made by ${gives}`, () => {
    const { server, maker } = vendorsOf(addressed);
    expect(`${server} ${maker}`).toBe(gives);
  });
}
