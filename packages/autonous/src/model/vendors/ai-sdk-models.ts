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
  /** Marks what the provider is to keep for the next request, where it wants to be told. */
  readonly cacheMark?: SharedV4ProviderOptions;
  /** It takes a result's failure apart from its text; others would be sent JSON around the same words. */
  readonly marksErrors?: true;
  readonly providerOptions?: SharedV4ProviderOptions;
  /** Its models take images. Of a server of one's own that is not known, and most refuse what they cannot read. */
  readonly takesImages?: true;
  /** Loads the package, once it is used and no other. */
  create(served: ServedModel): Promise<LanguageModelV4>;
}

/** Some servers want any key, and the library wants one of every server. */
const NO_KEY = "none";

/** A blank variable counts as not set. The packages read theirs while they are loaded, and throw on a blank one. */
function dropBlank(variable: string): void {
  if (process.env[variable]?.trim() === "") delete process.env[variable];
}

/** Each kind of model server. Nothing is kept at the provider's: what it wants back goes along, encrypted by itself. */
export const KINDS = {
  anthropic: {
    access: "anthropic",
    wire: "messages",
    takesImages: true,
    cacheMark: { anthropic: { cacheControl: { type: "ephemeral" } } },
    marksErrors: true,
    // Nobody watches arguments while they are written, and servers that speak the same language do not know the word.
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
