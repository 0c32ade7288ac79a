import { ToolError } from "@autonous/runtime";

/** Prefixes of models in a list. `choose.ts` has a row for each. */
const KINDS = ["script", "anthropic", "openai", "openai-chat", "google", "compatible", "compatible-plain"] as const;
export type ModelKind = (typeof KINDS)[number];

/**
 * A comma separates models only if a model follows: names, URLs and files may contain commas. `direct` is matched too,
 * so that it can be rejected.
 */
const NEXT = new RegExp(`,\\s*(?=(?:${KINDS.join("|")}):|direct\\s*(?:,|$))`, "i");
/** Looks like a model of an unknown provider. */
const UNKNOWN = /,\s*[a-z][\w.-]*:(?!\/\/)/i;

/** The models in a setting, in order. Throws `InvalidArguments` if the list is unusable. */
export function splitModels(setting: string): readonly string[] {
  const parts = setting.split(NEXT);
  const models = parts.length === 1 ? parts : parts.map((each) => each.trim());
  const problem = problemOf(models);
  if (problem === undefined) return models;
  const { why, hint = SEPARATE } = problem;
  throw new ToolError("InvalidArguments", `Cannot use the list of models "${withoutPassword(setting)}": ${why}`, {
    hint,
  });
}

const SEPARATE = "Separate models by commas, such as: anthropic:<model>, openai:<model>, compatible:<model>@<url>.";

function problemOf(models: readonly string[]): { readonly why: string; readonly hint?: string } | undefined {
  const isFile = (model: string): boolean => model.startsWith("script:");
  const isOpen = (model: string): boolean => /^,|,\s*$/.test(model) || (model === "" && models.length > 1);
  if (models.some((each) => !isFile(each) && isOpen(each))) return { why: "a comma has no model before or after it" };
  const unknown = models.find((each) => !isFile(each) && UNKNOWN.test(each));
  if (unknown !== undefined) {
    const provider = withoutPassword(UNKNOWN.exec(unknown)?.[0].slice(1).trim() ?? "");
    return {
      why: `"${provider}" is not a known kind of model`,
      hint: `Use one of ${KINDS.map((each) => `${each}:`).join(", ")}.`,
    };
  }
  if (models.length > 1 && models.includes("direct"))
    return { why: '"direct" is not a model, so it cannot be a fallback', hint: 'Remove "direct" from the list.' };
  const twice = models.find((each, index) => models.indexOf(each) !== index);
  if (twice === undefined) return undefined;
  return { why: `"${withoutPassword(twice)}" is listed twice`, hint: "List each model once." };
}

/** For messages: a URL may contain a password or a key. */
export function withoutPassword(setting: string): string {
  return setting.replaceAll(/\/\/[^/@\s]*@/g, "//***@").replaceAll(/[?#][^\s,]+/g, "?***");
}
