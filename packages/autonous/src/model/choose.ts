import { ToolError } from "@autonous/runtime";
import { createDirectProvider } from "./direct.ts";
import { readAccess } from "./keys.ts";
import type { AccessName } from "./keys.ts";
import type { AiSdkOptions } from "./ai-sdk.ts";
import type { ModelSettings } from "./model-settings.ts";
import type { ModelProvider } from "./provider.ts";
import { loadScriptProvider } from "./script.ts";

interface Named {
  readonly setting: string;
  /** What the pattern found: the file, or the model and its server. */
  readonly found: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly settings: ModelSettings;
}

interface ServedRow {
  readonly form: string;
  readonly pattern: RegExp;
  create(named: Named): ModelProvider | Promise<ModelProvider>;
}

/** What `AUTONOUS_MODEL` may say. A model's name may hold "@" itself, so a server is what follows the last one. */
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

/**
 * The provider that a setting names, with its key from the environment, asked as `settingsOf` says for its name. Throws `InvalidArguments` on a setting, a script
 * or a key that cannot be used; asks nobody yet.
 */
export async function createProvider(
  setting: string,
  environment: NodeJS.ProcessEnv = process.env,
  settingsOf: (model: string) => ModelSettings = () => ({}),
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
  const message = `Cannot use the model "${withoutPassword(setting)}": AUTONOUS_MODEL is one of ${forms}`;
  throw new ToolError("InvalidArguments", message, {
    setting: withoutPassword(setting),
    hint: "Set AUTONOUS_MODEL, or --model, to one of these.",
  });
}

interface Remote extends Pick<AiSdkOptions, "kind" | "protocol"> {
  readonly access: AccessName;
}

/** What speaks to servers is loaded for those who have one: the command line starts without. */
async function createRemote(
  { setting, found, environment, settings }: Named,
  { access, ...how }: Remote,
): Promise<ModelProvider> {
  const [model = "", server] = found;
  const reached = readAccess(access, environment, server);
  const { createAiSdkProvider } = await import("./ai-sdk.ts");
  return createAiSdkProvider({ name: setting, model, access: reached, settings, ...how });
}

function withoutPassword(setting: string): string {
  return setting.replaceAll(/\/\/[^/@\s]*@/g, "//***@");
}
