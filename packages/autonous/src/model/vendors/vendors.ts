/** Who serves a model, or made it. `other`: a server or a model that is not in the tables. */
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

/** The two whose habits count for a request: who takes it, and whose model answers it. */
export interface Vendors {
  readonly server: Vendor;
  readonly maker: Vendor;
}

interface ServerRow {
  readonly vendor: Vendor;
  /** Ends of host names. */
  readonly hosts?: readonly string[];
  readonly port?: string;
  /** Segments of the path, as gateways have them; the vendor's own name is one too. */
  readonly segments?: readonly string[];
}

/** Where each vendor answers. */
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

/** Whose model a name is: the first row that fits the name, or a part of it after a slash. */
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

/** Servers whose own models are all that they serve. */
const MAKERS: ReadonlySet<Vendor> = new Set(MODELS.map(({ vendor }) => vendor));

interface Addressed {
  readonly base_url: string;
  readonly model: string;
  /** As `AUTONOUS_MODEL` names it. */
  readonly kind?: string;
}

/**
 * Who takes a request and whose model answers it, by the server's name, a segment of its path (a gateway's), its port,
 * and the model's name. A model's name says more than the server's, which may serve the models of others.
 */
export function vendorsOf({ base_url, model, kind = "compatible" }: Addressed): Vendors {
  const server = serverOf(base_url);
  const maker = makerOf(model) ?? (MAKERS.has(server) ? server : (MAKER_OF_KIND[kind] ?? "other"));
  return { server, maker };
}

/** `compatible:kimi-k2@https://…`: a name says its kind, its model, and mostly its server. */
const NAMED = /^([a-z-]+):(\S+?)(?:@(https?:\/\/\S+))?$/i;

/** The same of a model as `AUTONOUS_MODEL` names it. */
export function vendorsOfName(name: string): Vendors {
  const [, kind = "", model = "", base_url = ""] = NAMED.exec(name) ?? [];
  return vendorsOf({ kind, model, base_url });
}

/** Behind an unknown server: kinds whose format has one maker. */
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

/** Names have the maker before a slash (`moonshotai/kimi-k2`), a version after a colon (`qwen3:8b`), or a path of files. */
function makerOf(model: string): Vendor | undefined {
  const parts = model.toLowerCase().split("/").reverse();
  const names = parts.flatMap((part) => [part, ...part.split(".")]);
  for (const name of names) {
    const row = MODELS.find((each) => each.model.test(name));
    if (row !== undefined) return row.vendor;
  }
  return undefined;
}
