import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { createCompatible } from "./compatible-chat.ts";
import type { Access, AccessName } from "../keys.ts";
import type { Vendors } from "./vendors.ts";
import type { WireName } from "../wire/read-answer.ts";

interface ServedModel extends Access {
  readonly model: string;
  readonly vendors: Vendors;
  readonly fetch: typeof globalThis.fetch;
}

interface KindRow {
  readonly access: AccessName;
  readonly wire: WireName;
  /** Marks what the provider should cache for the next request, if it needs marks. */
  readonly cacheMark?: SharedV4ProviderOptions;
  /** It accepts a failure flag for results; for others the library would wrap the same text in JSON. */
  readonly marksErrors?: true;
  readonly providerOptions?: SharedV4ProviderOptions;
  /** Its models accept images. Unknown for self-hosted servers, and most reject what they cannot read. */
  readonly takesImages?: true;
  /** Loads only the package that is used. */
  create(served: ServedModel): Promise<LanguageModelV4>;
}

/** Some servers require any key, and the library always requires one. */
const NO_KEY = "none";

/** A blank variable counts as not set: the packages read their variables when loaded, and throw on a blank one. */
function dropBlank(variable: string): void {
  if (process.env[variable]?.trim() === "") delete process.env[variable];
}

/** The kinds of model servers. No state is stored at the provider: it sends encrypted state that we send back. */
export const KINDS = {
  anthropic: {
    access: "anthropic",
    wire: "messages",
    takesImages: true,
    cacheMark: { anthropic: { cacheControl: { type: "ephemeral" } } },
    marksErrors: true,
    // Streamed arguments are not shown, and compatible servers do not know this option.
    providerOptions: { anthropic: { toolStreaming: false } },
    create: async ({ model, key = NO_KEY, base_url: baseURL, fetch }) => {
      dropBlank("ANTHROPIC_BASE_URL");
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ apiKey: key, baseURL, fetch })(model);
    },
  },
  openai: {
    access: "openai",
    wire: "responses",
    takesImages: true,
    providerOptions: { openai: { store: false } },
    create: async ({ model, key = NO_KEY, base_url: baseURL, fetch }) => {
      dropBlank("OPENAI_BASE_URL");
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey: key, baseURL, fetch }).responses(model);
    },
  },
  "openai-chat": {
    access: "openai",
    wire: "chat",
    takesImages: true,
    create: async ({ model, key = NO_KEY, base_url: baseURL, fetch }) => {
      dropBlank("OPENAI_BASE_URL");
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey: key, baseURL, fetch }).chat(model);
    },
  },
  google: {
    access: "google",
    wire: "gemini",
    takesImages: true,
    marksErrors: true,
    create: async ({ model, key = NO_KEY, base_url: baseURL, fetch }) => {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ apiKey: key, baseURL, fetch })(model);
    },
  },
  compatible: {
    access: "compatible",
    wire: "chat",
    create: createCompatible,
  },
} as const satisfies Record<string, KindRow>;

export type ModelKind = keyof typeof KINDS;
export type { KindRow };
