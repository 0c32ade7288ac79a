import type {
  JSONObject,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { ToolError } from "@autonous/runtime";
import { chatThinking } from "./chat-thinking.ts";
import { claudeRow } from "./claude-models.ts";
import type { ClaudeRow } from "./claude-models.ts";
import { CHAT, chatOptions } from "./compatible-chat.ts";
import type { Effort, ModelSettings } from "./model-settings.ts";
import type { Vendors } from "./vendors.ts";

export interface AskedModel {
  readonly kind: string;
  readonly vendors: Vendors;
  readonly model: string;
  readonly settings: ModelSettings;
}

/** Request options other than the prompt. */
export interface ReplyPlan {
  /** Maximum reply length, including thinking. Undefined: the server's default. */
  readonly max_tokens?: number;
  /** Part of it for thinking, in Anthropic's format. */
  readonly budget_tokens?: number;
  readonly reasoning?: LanguageModelV4CallOptions["reasoning"];
  readonly providerOptions: SharedV4ProviderOptions;
}

/** For models with an unknown maximum: longer than most replies. */
const LONG_REPLY = 32_000;
/** Models other than Claude in Anthropic's format. */
const OTHER_MODELS: ClaudeRow = {
  reply: LONG_REPLY,
  efforts: ["low", "medium", "high", "xhigh", "max"],
  thinks: "budget",
};
/** Anthropic's minimum. */
const MIN_BUDGET = 1024;
/** For thinking "on" with a model that requires a number. */
const USUAL_BUDGET = 16_000;

/** Servers with a default of a few thousand tokens, which truncates thinking and long files. */
const SHORT_BY_DEFAULT: ReadonlySet<string> = new Set(["deepseek", "kimi", "fireworks"]);

/**
 * Turns the settings of a model into request options. Throws `InvalidArguments` if the model is known to reject them.
 */
export function planReply(asked: AskedModel): ReplyPlan {
  const { settings } = asked;
  const { max_output_tokens: max, thinking } = settings;
  if (typeof thinking === "number" && max !== undefined && thinking >= max)
    throw invalidSettings(
      asked,
      `a thinking budget of ${thinking} leaves nothing of max_output_tokens ${max} for the reply`,
    );
  const plan = (PLANS[asked.kind] ?? planChat)(asked);
  const most = max ?? plan.max_tokens;
  return most === undefined ? plan : { ...plan, max_tokens: most };
}

const PLANS: Readonly<Record<string, (asked: AskedModel) => ReplyPlan>> = {
  anthropic: planAnthropic,
  openai: planOpenai,
  "openai-chat": planOpenai,
  google: planGoogle,
};

function planAnthropic(asked: AskedModel): ReplyPlan {
  const { model, settings } = asked;
  const { effort, thinking = "auto", max_output_tokens } = settings;
  const row = claudeRow(model);
  const { reply, efforts, thinks, staysOn } = row ?? OTHER_MODELS;
  if (effort !== undefined && !efforts.includes(effort)) {
    const taken = efforts.length === 0 ? "it takes none" : `it takes ${efforts.join(", ")}`;
    throw invalidSettings(asked, `effort "${effort}" is not one of this model's (${taken})`);
  }
  if (thinking === "off" && staysOn === true)
    throw invalidSettings(asked, "thinking cannot be turned off; lower the effort instead");
  if (thinking !== "auto" && thinking !== "off" && thinks === "never")
    throw invalidSettings(asked, "this model does not think");
  if (typeof thinking === "number" && thinks === "adaptive")
    throw invalidSettings(asked, "it decides on its own how long it thinks; set effort instead of a thinking budget");
  if (typeof thinking === "number" && row !== undefined && thinking < MIN_BUDGET)
    throw invalidSettings(asked, `a thinking budget of ${thinking} is less than ${MIN_BUDGET}, the minimum`);
  const most = max_output_tokens ?? reply;
  const isAdaptive = thinking === "on" && thinks !== "budget";
  const budget = thinking === "on" ? Math.min(USUAL_BUDGET, Math.floor(most / 2)) : thinking;
  const budget_tokens = typeof budget === "number" && !isAdaptive ? budget : undefined;
  const type = thinking === "off" ? "disabled" : isAdaptive ? "adaptive" : "enabled";
  const told: JSONObject = {
    ...(thinking === "auto"
      ? {}
      : { thinking: { type, ...(budget_tokens === undefined ? {} : { budgetTokens: budget_tokens }) } }),
    ...(effort === undefined ? {} : { effort }),
  };
  const budgeted = budget_tokens === undefined ? {} : { budget_tokens };
  return { max_tokens: reply, ...budgeted, providerOptions: { anthropic: told } };
}

/** Accepted efforts of OpenAI model families; others are left to the server. `none` turns thinking off. */
// oxfmt-ignore
const OPENAI_EFFORTS: readonly { readonly model: RegExp; readonly efforts: readonly (Effort | "none")[] }[] = [
  { model: /^(?:gpt-[34]|chatgpt)/,                      efforts: [] },
  { model: /^o\d(?:-|$)/,                                efforts: ["low", "medium", "high"] },
  { model: /^gpt-5(?:-(?:mini|nano|codex))?(?:-\d|$)/,   efforts: ["minimal", "low", "medium", "high"] },
  { model: /^gpt-6-(?:sol|luna)$/,                       efforts: ["none", "low", "medium", "high", "xhigh", "max"] },
  { model: /^gpt-6/,                                     efforts: ["low", "medium", "high", "xhigh", "max"] },
];

function planOpenai(asked: AskedModel): ReplyPlan {
  const { model, settings } = asked;
  const { thinking = "auto", effort } = settings;
  if (typeof thinking === "number") throw invalidSettings(asked, "it takes no thinking budget; set effort instead");
  if (thinking === "off" && effort !== undefined)
    throw invalidSettings(asked, `thinking is off, and effort is "${effort}"`);
  const told = thinking === "off" ? "none" : effort;
  if (told === undefined) return { providerOptions: {} };
  const known = OPENAI_EFFORTS.find((row) => row.model.test(model))?.efforts;
  if (known !== undefined && !known.includes(told)) {
    const what = told === "none" ? "thinking cannot be turned off" : `effort "${told}" is not one of this model's`;
    throw invalidSettings(asked, `${what} (it takes ${known.length === 0 ? "no effort" : known.join(", ")})`);
  }
  // The library silently treats models with unknown names as non-reasoning.
  const forced = /^(?:o\d|gpt-\d)/.test(model) ? {} : { forceReasoning: true, systemMessageMode: "system" };
  // Otherwise the library also requests a summary, which OpenAI gives only to verified organisations.
  return { providerOptions: { openai: { reasoningEffort: told, reasoningSummary: null, ...forced } } };
}

function planGoogle(asked: AskedModel): ReplyPlan {
  const { model, settings } = asked;
  const { thinking = "auto", effort } = settings;
  if (thinking === "off" && /gemini-2\.5-pro/.test(model))
    throw invalidSettings(asked, "thinking cannot be turned off; set a budget of at least 128");
  if (thinking === "off" && effort !== undefined)
    throw invalidSettings(asked, `thinking is off, and effort is "${effort}"`);
  if (typeof thinking === "number")
    return { providerOptions: { google: { thinkingConfig: { thinkingBudget: thinking } } } };
  const reasoning = thinking === "off" ? "none" : effort;
  // It has no level above "high".
  const level = reasoning === "max" ? "xhigh" : reasoning;
  const dynamic = thinking === "on" && effort === undefined && /gemini-2\.5/.test(model);
  return {
    ...(level === undefined ? {} : { reasoning: level }),
    providerOptions: dynamic ? { google: { thinkingConfig: { thinkingBudget: -1 } } } : {},
  };
}

function planChat(asked: AskedModel): ReplyPlan {
  const { vendors, settings } = asked;
  if (settings.thinking === "off" && settings.effort !== undefined)
    throw invalidSettings(asked, `thinking is off, and effort is "${settings.effort}"`);
  const told = chatThinking(vendors, settings);
  if ("problem" in told) throw invalidSettings(asked, told.problem);
  const isShort = SHORT_BY_DEFAULT.has(vendors.server) && !asked.model.startsWith("moonshot-v1");
  return { ...(isShort ? { max_tokens: LONG_REPLY } : {}), providerOptions: chatOptions(told.options) };
}

type CallOptions = Pick<LanguageModelV4CallOptions, "maxOutputTokens" | "reasoning" | "providerOptions">;

interface RequestOptions {
  readonly kind: string;
  readonly model: string;
  readonly max_tokens: number | undefined;
  /** Sends the limit under its newer name, which OpenAI's own models require. */
  readonly isNewName: boolean;
  /** Options that this kind sends with every request. */
  readonly always: SharedV4ProviderOptions | undefined;
  /** For formats with a thinking budget: whether thinking is possible for this request. */
  readonly mayThink: boolean;
}

/** Converts the options to the library's form. */
export function callOptions(
  { budget_tokens, reasoning, providerOptions }: ReplyPlan,
  sent: RequestOptions,
): CallOptions {
  const { kind, model, max_tokens, isNewName, always = {}, mayThink } = sent;
  const names = new Set([...Object.keys(always), ...Object.keys(providerOptions)]);
  const merged = Object.fromEntries([...names].map((name) => [name, { ...always[name], ...providerOptions[name] }]));
  const think = reasoning === undefined ? {} : { reasoning };
  if (kind === "compatible" && max_tokens !== undefined && (isNewName || NEW_NAME.test(model))) {
    const limited = chatOptions({ ...merged[CHAT], max_completion_tokens: max_tokens });
    return { ...think, providerOptions: { ...merged, ...limited } };
  }
  if (budget_tokens === undefined || max_tokens === undefined)
    return { ...think, ...(max_tokens === undefined ? {} : { maxOutputTokens: max_tokens }), providerOptions: merged };
  // A limit named by the server may be below the thinking budget; the library adds the two.
  const budget = Math.min(budget_tokens, max_tokens - MIN_BUDGET);
  if (!mayThink || budget < MIN_BUDGET) {
    const { thinking: _, ...rest } = merged["anthropic"] ?? {};
    return { maxOutputTokens: max_tokens, providerOptions: { ...merged, anthropic: rest } };
  }
  const anthropic = { ...merged["anthropic"], thinking: { type: "enabled", budgetTokens: budget } };
  return { maxOutputTokens: max_tokens - budget, providerOptions: { ...merged, anthropic } };
}

/** With a thinking budget, Claude requires that a reply with answered calls starts with its thinking. */
export function beginsWithThought(prompt: LanguageModelV4Prompt): boolean {
  if (prompt.at(-1)?.role !== "tool") return true;
  const last = prompt.findLast(({ role }) => role === "assistant");
  return last?.role === "assistant" && last.content[0]?.type === "reasoning";
}

const NEW_NAME = /^(?:openai\/)?(?:o\d(?:-|$)|gpt-[5-9])/;

function invalidSettings({ kind, model }: AskedModel, why: string): ToolError {
  return new ToolError("InvalidArguments", `Cannot ask the ${kind} model "${model}" with these settings: ${why}`, {
    model,
    hint: "Change max_output_tokens, thinking or effort of this model (settings, or models in the configuration).",
  });
}
