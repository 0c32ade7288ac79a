/** Server or maker of a model. `other`: not in the tables. */
export type Vendor =
  | "anthropic"
  | "openai"
  | "google"
  | "deepseek"
  | "kimi"
  | "qwen"
  | "mistral"
  | "xai"
  | "zai"
  | "minimax"
  | "openrouter"
  | "together"
  | "groq"
  | "fireworks"
  | "copilot"
  | "ollama"
  | "vllm"
  | "sglang"
  | "lmstudio"
  | "llamacpp"
  | "tgi"
  | "litellm"
  | "gpt-oss"
  | "other";

/** The two vendors that matter for a request: its server and the maker of the model. */
export interface Vendors {
  readonly server: Vendor;
  readonly maker: Vendor;
}

interface ServerRow {
  readonly vendor: Vendor;
  /** Host name suffixes. */
  readonly hosts?: readonly string[];
  readonly port?: string;
  /** Path segments used by gateways; the vendor's name is one too. */
  readonly segments?: readonly string[];
}

/** Servers of each vendor. */
// oxfmt-ignore
const SERVERS: readonly ServerRow[] = [
  { vendor: "anthropic",  hosts: ["anthropic.com", "claude.com"] },
  { vendor: "openai",     hosts: ["openai.com", "openai.azure.com"], segments: ["azure-openai"] },
  { vendor: "google",     hosts: ["googleapis.com"], segments: ["google-ai-studio", "gemini", "vertex"] },
  { vendor: "deepseek",   hosts: ["deepseek.com"] },
  { vendor: "kimi",       hosts: ["moonshot.cn", "moonshot.ai", "kimi.com"], segments: ["moonshot", "moonshotai"] },
  { vendor: "qwen",       hosts: ["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com", "maas.aliyuncs.com"], segments: ["dashscope", "alibaba"] },
  { vendor: "mistral",    hosts: ["mistral.ai"], segments: ["codestral"] },
  { vendor: "xai",        hosts: ["x.ai"], segments: ["grok", "x-ai"] },
  { vendor: "zai",        hosts: ["z.ai", "bigmodel.cn"], segments: ["z-ai", "zhipu", "zhipuai", "bigmodel"] },
  { vendor: "minimax",    hosts: ["minimax.io", "minimaxi.com", "minimax.chat"] },
  { vendor: "openrouter", hosts: ["openrouter.ai"] },
  { vendor: "together",   hosts: ["together.xyz", "together.ai"], segments: ["together-ai"] },
  { vendor: "groq",       hosts: ["groq.com"] },
  { vendor: "fireworks",  hosts: ["fireworks.ai"], segments: ["fireworks-ai"] },
  { vendor: "copilot",    hosts: ["githubcopilot.com", "models.github.ai", "models.inference.ai.azure.com"], segments: ["github-copilot"] },
  { vendor: "ollama",     hosts: ["ollama.com"], port: "11434" },
  { vendor: "vllm" },
  { vendor: "sglang",     port: "30000" },
  { vendor: "lmstudio",   port: "1234", segments: ["lm-studio"] },
  { vendor: "llamacpp",   segments: ["llama-cpp", "llama.cpp", "llama-server"] },
  { vendor: "tgi",        hosts: ["endpoints.huggingface.cloud"] },
  { vendor: "litellm",    segments: ["litellm"] },
];

interface ModelRow {
  readonly vendor: Vendor;
  readonly model: RegExp;
}

/** Maker by model name: the first row that matches the name, or a part of it after a slash. */
// oxfmt-ignore
const MODELS: readonly ModelRow[] = [
  { vendor: "gpt-oss",   model: /gpt-?oss/ },
  { vendor: "deepseek",  model: /^deepseek/ },
  { vendor: "kimi",      model: /^(?:kimi|moonshot)/ },
  { vendor: "minimax",   model: /^(?:minimax|abab\d)/ },
  { vendor: "zai",       model: /^(?:glm|chatglm|z-?ai|zhipu)/ },
  { vendor: "qwen",      model: /^(?:qwen|qwq|qvq|tongyi)/ },
  { vendor: "mistral",   model: /^(?:mistral|magistral|mixtral|ministral|codestral|devstral|pixtral|open-mi[sx]tral|voxtral)/ },
  { vendor: "xai",       model: /^(?:grok|x-?ai$)/ },
  { vendor: "anthropic", model: /^(?:claude|anthropic)/ },
  { vendor: "google",    model: /^(?:gemini|gemma|google)/ },
  { vendor: "openai",    model: /^(?:gpt-|chatgpt|o[134](?:-|$)|openai|codex)/ },
];

/** Servers that serve only their own models. */
const MAKERS: ReadonlySet<Vendor> = new Set(MODELS.map(({ vendor }) => vendor));

interface ModelAddress {
  readonly base_url: string;
  readonly model: string;
  /** The name in `AUTONOUS_MODEL`. */
  readonly kind?: string;
}

/**
 * Server and maker for a request, by host name, path segment (of a gateway), port, and model name. The model name takes
 * precedence for the maker, because a server may serve models of others.
 */
export function vendorsOf({ base_url, model, kind = "compatible" }: ModelAddress): Vendors {
  const server = serverOf(base_url);
  const maker = makerOf(model) ?? (MAKERS.has(server) ? server : (MAKER_OF_KIND[kind] ?? "other"));
  return { server, maker };
}

/** `compatible:kimi-k2@https://…`: kind, model, and usually the server. */
const NAMED = /^([a-z-]+):(\S+?)(?:@(https?:\/\/\S+))?$/i;

/** The same for a model's name in `AUTONOUS_MODEL`. */
export function vendorsOfName(name: string): Vendors {
  const [, kind = "", model = "", base_url = ""] = NAMED.exec(name) ?? [];
  return vendorsOf({ kind, model, base_url });
}

/** For unknown servers: kinds whose format has one maker. */
const MAKER_OF_KIND: Readonly<Record<string, Vendor>> = { openai: "openai", google: "google" };

function serverOf(base_url: string): Vendor {
  if (!URL.canParse(base_url)) return "other";
  const { hostname, port, pathname } = new URL(base_url);
  const host = hostname.toLowerCase();
  const segments = new Set(pathname.toLowerCase().split("/"));
  const row =
    SERVERS.find(({ hosts = [] }) => hosts.some((each) => host === each || host.endsWith(`.${each}`))) ??
    SERVERS.find(({ vendor, segments: known = [] }) => [vendor, ...known].some((each) => segments.has(each))) ??
    SERVERS.find(({ vendor }) => host.split(".").includes(vendor)) ??
    SERVERS.find((each) => each.port !== undefined && each.port === port);
  return row?.vendor ?? "other";
}

/**
 * Names have the maker before a slash (`moonshotai/kimi-k2`), a version after a colon (`qwen3:8b`), or are file paths.
 */
function makerOf(model: string): Vendor | undefined {
  const parts = model.toLowerCase().split("/").reverse();
  const names = parts.flatMap((part) => [part, ...part.split(".")]);
  for (const name of names) {
    const row = MODELS.find((each) => each.model.test(name));
    if (row !== undefined) return row.vendor;
  }
  return undefined;
}
