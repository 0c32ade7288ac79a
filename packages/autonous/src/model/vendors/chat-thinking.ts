import type { JSONObject } from "@ai-sdk/provider";
import type { Effort, ModelSettings } from "./model-settings.ts";
import type { Vendor, Vendors } from "./vendors.ts";

/** How thinking is configured on a server with chat format. A missing field: no known option. */
interface ThinkingRow {
  readonly on?: JSONObject;
  readonly off?: JSONObject;
  readonly budget?: (tokens: number) => JSONObject;
  readonly effort?: (effort: Effort) => JSONObject;
  /** Accepted efforts. Default: the server decides. */
  readonly efforts?: readonly Effort[];
}

// The library's name for `reasoning_effort`.
const effort = (value: string): JSONObject => ({ reasoningEffort: value });
const typed = (type: string): JSONObject => ({ thinking: { type } });
const template = (values: JSONObject): JSONObject => ({ chat_template_kwargs: values });

const BY_EFFORT: ThinkingRow = { on: {}, off: effort("none"), effort };
const GPT_OSS: ThinkingRow = { on: {}, effort, efforts: ["low", "medium", "high"] };

/** By server, if it has one option for all models. */
// oxfmt-ignore
const SERVERS: Partial<Record<Vendor, ThinkingRow>> = {
  openrouter: { on: { reasoning: { enabled: true } }, off: { reasoning: { enabled: false } }, budget: (max_tokens) => ({ reasoning: { max_tokens } }), effort: (value) => ({ reasoning: { effort: value } }) },
  qwen:       { on: { enable_thinking: true }, off: { enable_thinking: false }, budget: (thinking_budget) => ({ enable_thinking: true, thinking_budget }) },
  deepseek:   { on: typed("enabled"), off: typed("disabled"), effort },
  kimi:       { on: typed("enabled"), off: typed("disabled") },
  zai:        { on: { thinking: { type: "enabled", clear_thinking: false } }, off: typed("disabled"), effort },
  minimax:    { on: typed("adaptive"), off: typed("disabled") },
  google:     { ...BY_EFFORT, budget: (thinking_budget) => ({ extra_body: { google: { thinking_config: { thinking_budget } } } }) },
  fireworks:  { ...BY_EFFORT, budget: (budget_tokens) => ({ thinking: { type: "enabled", budget_tokens } }) },
  together:   { on: { reasoning: { enabled: true } }, off: { reasoning: { enabled: false } }, effort },
  mistral:    { on: effort("high"), off: effort("none"), effort },
  ollama:     BY_EFFORT,
  lmstudio:   BY_EFFORT,
  groq:       BY_EFFORT,
  xai:        BY_EFFORT,
  copilot:    BY_EFFORT,
  openai:     BY_EFFORT,
};

/** By maker of the model, on servers that pass these values to the model's template; gateways forward the others. */
// oxfmt-ignore
const MAKERS: Partial<Record<Vendor, ThinkingRow>> = {
  deepseek:  { on: { ...typed("enabled"), ...template({ thinking: true }) }, off: { ...typed("disabled"), ...template({ thinking: false }) }, effort },
  kimi:      { on: { ...typed("enabled"), ...template({ thinking: true }) }, off: { ...typed("disabled"), ...template({ thinking: false }) } },
  zai:       { on: { ...typed("enabled"), ...template({ enable_thinking: true }) }, off: { ...typed("disabled"), ...template({ enable_thinking: false }) }, effort },
  anthropic: { off: typed("disabled"), budget: (budget_tokens) => ({ thinking: { type: "enabled", budget_tokens } }), effort },
  openai:    BY_EFFORT,
  google:    BY_EFFORT,
  xai:       BY_EFFORT,
};

const OTHERS: ThinkingRow = {
  on: template({ enable_thinking: true }),
  off: template({ enable_thinking: false }),
  effort,
};

function rowOf({ server, maker }: Vendors): ThinkingRow {
  if (maker === "gpt-oss" && server !== "openrouter") return GPT_OSS;
  return SERVERS[server] ?? MAKERS[maker] ?? OTHERS;
}

/** Fields of the request, or why the settings cannot be expressed. */
export function chatThinking(
  vendors: Vendors,
  { thinking = "auto", effort: asked }: Pick<ModelSettings, "thinking" | "effort">,
): { readonly options: JSONObject } | { readonly problem: string } {
  const row = rowOf(vendors);
  if (typeof thinking === "number" && asked !== undefined && vendors.server === "openrouter")
    return { problem: "it takes a thinking budget or an effort, not both" };
  const told = thinking === "auto" ? {} : typeof thinking === "number" ? row.budget?.(thinking) : row[thinking];
  if (told === undefined) {
    const ways = ["on" in row ? "on" : "", "off" in row ? "off" : "", "budget" in row ? "a budget" : ""];
    const taken = ways.filter((each) => each !== "").join(", ");
    return { problem: `thinking "${thinking}" cannot be set on this server or model (thinking takes auto, ${taken})` };
  }
  if (asked === undefined) return { options: told };
  if (row.effort === undefined)
    return { problem: "effort cannot be set on this server or model; set thinking instead" };
  if (row.efforts !== undefined && !row.efforts.includes(asked))
    return { problem: `effort "${asked}" is not one of this model's (${row.efforts.join(", ")})` };
  return { options: { ...told, ...row.effort(asked) } };
}
