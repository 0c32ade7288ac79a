import { ToolError } from "@autonous/runtime";
import { proxyFor } from "@autonous/runtime/internal";
import { createDirectProvider } from "./scripted/direct.ts";
import { readAccess } from "./keys.ts";
import type { AccessName } from "./keys.ts";
import type { AiSdkOptions } from "./ai-sdk-provider.ts";
import { splitModels, withoutPassword } from "./model-list.ts";
import type { ModelKind } from "./model-list.ts";
import type { ModelSettings } from "./vendors/model-settings.ts";
import type { ModelProvider } from "./provider.ts";
import { loadScriptProvider } from "./scripted/script.ts";

interface NamedModel {
  readonly setting: string;
  /** Groups of the pattern: the file, or the model and its server. */
  readonly found: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly settings: ModelSettings;
}

interface ServedRow {
  readonly form: "direct" | `${ModelKind}:<${string}`;
  readonly pattern: RegExp;
  create(named: NamedModel): ModelProvider | Promise<ModelProvider>;
}

/** Forms of `AUTONOUS_MODEL`. A model name may contain "@", so the server follows the last one. */
// oxfmt-ignore
const SERVED: readonly ServedRow[] = [
  { form: "direct",                         pattern: /^direct$/,                                   create: () => createDirectProvider() },
  { form: "script:<file>",                  pattern: /^script:(.+)$/s,                             create: ({ found: [file = ""] }) => loadScriptProvider(file) },
  { form: "anthropic:<model>",              pattern: /^anthropic:(\S+)$/,                          create: (named) => createRemote(named, { kind: "anthropic",   access: "anthropic" }) },
  { form: "openai:<model>",                 pattern: /^openai:(\S+)$/,                             create: (named) => createRemote(named, { kind: "openai",      access: "openai" }) },
  { form: "openai-chat:<model>",            pattern: /^openai-chat:(\S+)$/,                        create: (named) => createRemote(named, { kind: "openai-chat", access: "openai" }) },
  { form: "google:<model>",                 pattern: /^google:(\S+)$/,                             create: (named) => createRemote(named, { kind: "google",      access: "google" }) },
  { form: "compatible:<model>@<url>",       pattern: /^compatible:(\S+)@(https?:\/\/\S+)$/i,       create: (named) => createRemote(named, { kind: "compatible",  access: "compatible" }) },
  { form: "compatible-plain:<model>@<url>", pattern: /^compatible-plain:(\S+)@(https?:\/\/\S+)$/i, create: (named) => createRemote(named, { kind: "compatible",  access: "compatible", protocol: "plain" }) },
];

/** Common mistakes. */
// oxfmt-ignore
const SLIPS = [
  { pattern: /^compatible(-plain)?:[^\s@]+$/i,                 problem: "the server's address is missing (@http://127.0.0.1:11434/v1)" },
  { pattern: /^compatible(-plain)?:\S+@(?!https?:\/\/)[^\s@]+$/i, problem: "the server's address must start with http:// or https://" },
  { pattern: /^[A-Z][\w-]*:/,                                  problem: "provider names are lower case" },
  { pattern: /^[^\s:]+$/,                                      problem: "the provider before the model's name is missing (provider:model)" },
  { pattern: /,\s*[^\s:,]+$/,                                  problem: "the provider before the name after the last comma is missing (provider:model)" },
  { pattern: /\s/,                                            problem: "model names have no spaces; separate several models by commas" },
] as const;

type SettingsOf = (model: string) => ModelSettings;

/**
 * Creates the provider that a setting names, with its key from the environment and the settings that `settingsOf`
 * returns for it. For a list: the first one, with the others as its `fallbacks`. Throws `InvalidArguments` if any
 * setting, script or key is unusable; sends no request.
 */
export async function createProvider(
  setting: string,
  environment: NodeJS.ProcessEnv = process.env,
  settingsOf: SettingsOf = () => ({}),
): Promise<ModelProvider> {
  const [only = "", ...others] = splitModels(setting);
  const create = (model: string): Promise<ModelProvider> => createOne(model, environment, settingsOf);
  if (others.length === 0) return await create(only);
  const tried = await Promise.allSettled([only, ...others].map(create));
  const problems = tried.flatMap((each, index) => (each.status === "rejected" ? [{ index, error: each.reason }] : []));
  if (problems.length > 0) throw unusable([only, ...others], problems);
  const [first, ...fallbacks] = tried.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  if (first === undefined) throw new Error("A list of models has a first one");
  return { ...first, fallbacks };
}

/** Names the unusable models of a list, with reasons. Other errors are returned unchanged. */
function unusable(
  models: readonly string[],
  problems: readonly { readonly index: number; readonly error: unknown }[],
): unknown {
  const bug = problems.find(({ error }) => !(error instanceof ToolError));
  if (bug !== undefined) return bug.error;
  const told = problems.map(({ index, error }) => {
    const name = withoutPassword(models[index] ?? "");
    return `model ${index + 1} of ${models.length}, "${name}": ${(error as ToolError).message}`;
  });
  const hint = "Fix these models, or remove them from the list.";
  return new ToolError("InvalidArguments", `Cannot use the list of models: ${told.join("; ")}`, { hint });
}

async function createOne(
  setting: string,
  environment: NodeJS.ProcessEnv,
  settingsOf: SettingsOf,
): Promise<ModelProvider> {
  for (const { pattern, create } of SERVED) {
    const match = pattern.exec(setting);
    if (match === null) continue;
    const settings = settingsOf(setting);
    const provider = await create({ setting, found: match.slice(1), environment, settings });
    const { context_tokens } = settings;
    return context_tokens === undefined ? provider : { ...provider, context_tokens };
  }
  const forms = SERVED.map(({ form }) => form).join(", ");
  const slip = SLIPS.find(({ pattern }) => pattern.test(setting));
  const problem = slip === undefined ? "" : `${slip.problem}; `;
  const message = `Cannot use the model "${withoutPassword(setting)}": ${problem}AUTONOUS_MODEL is one of ${forms}, or several of them separated by commas`;
  throw new ToolError("InvalidArguments", message, {
    setting: withoutPassword(setting),
    hint: "Set AUTONOUS_MODEL, or --model, to one of these.",
  });
}

interface Remote extends Pick<AiSdkOptions, "kind" | "protocol"> {
  readonly access: AccessName;
}

/** Loads the provider code only when a server is used, so that the command line starts fast. */
async function createRemote(
  { setting, found, environment, settings }: NamedModel,
  { access, ...how }: Remote,
): Promise<ModelProvider> {
  const [model = "", server] = found;
  const reached = readAccess(access, environment, server);
  const proxy = proxyFor(new URL(reached.base_url), environment);
  const { createAiSdkProvider } = await import("./ai-sdk-provider.ts");
  const through = proxy === undefined ? {} : { proxy };
  return createAiSdkProvider({ name: setting, model, access: reached, settings, ...through, ...how });
}
