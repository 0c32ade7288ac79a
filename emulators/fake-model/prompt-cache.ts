/** How vendors cache prompts, and what of a request's input is read from the cache, written to it, or neither. */
import { createHash } from "node:crypto";
import { list, record, text } from "./formats/format.ts";
import type { Json } from "./formats/format.ts";

/** The input of one request in tokens. What is neither read nor written is billed at the plain price. */
export interface CachedInput {
  readonly input_tokens: number;
  readonly read_tokens: number;
  readonly write_tokens: number;
}

/** A content block, in the order in which the vendor reads the prompt. */
export interface PromptBlock {
  readonly text: string;
  /** A cache mark stands on it: how long the prefix that ends here is kept. */
  readonly ttl_s?: number;
}

const BYTES_PER_TOKEN = 4;
const FIVE_MINUTES_S = 300;
/** Entries; the least recently used ones are dropped first. */
const MAX_ENTRIES = 20_000;

export interface MarkedCacheOptions {
  /** Shorter prefixes are not cached. Anthropic: 1024 for most models. */
  readonly minimum_tokens?: number;
  /** How many blocks before a mark are looked up, the marked one included. Anthropic: 20. */
  readonly lookback_blocks?: number;
  /** In ms. */
  readonly now?: () => number;
}

export interface MarkedCache {
  /** Looks a request up and stores what its marks ask for. `scope`: the model; caches of two models are apart. */
  use(blocks: readonly PromptBlock[], scope?: string): CachedInput;
}

/**
 * Anthropic's cache. Only prefixes that end at a mark are written. A lookup walks back from each mark over at most 20
 * blocks to a prefix that was written before; a read keeps that prefix alive for its time to live again.
 */
export function createMarkedCache(options: MarkedCacheOptions = {}): MarkedCache {
  const { minimum_tokens = 1024, lookback_blocks = 20, now = () => performance.now() } = options;
  const entries = new Map<string, { readonly ttl_ms: number; readonly until_ms: number }>();
  const put = (key: string, ttl_ms: number): void => {
    entries.delete(key);
    entries.set(key, { ttl_ms, until_ms: now() + ttl_ms });
    for (const oldest of entries.keys()) if (entries.size > MAX_ENTRIES) entries.delete(oldest);
  };
  const has = (key: string): boolean => (entries.get(key)?.until_ms ?? 0) > now();
  return {
    use(blocks, scope = "") {
      const prefixes = prefixesOf(blocks, scope);
      const marks = [...blocks.keys()].filter(
        (i) => blocks[i]?.ttl_s !== undefined && (prefixes[i]?.tokens ?? 0) >= minimum_tokens,
      );
      const found = marks.flatMap((mark) => {
        const hit = prefixes.slice(Math.max(0, mark + 1 - lookback_blocks), mark + 1).findLast(({ key }) => has(key));
        return hit === undefined ? [] : [hit];
      });
      const read_tokens = Math.max(0, ...found.map(({ tokens }) => tokens));
      for (const { key } of found) put(key, entries.get(key)?.ttl_ms ?? 0);
      for (const mark of marks) put(prefixes[mark]?.key ?? "", (blocks[mark]?.ttl_s ?? 0) * 1000);
      const marked_tokens = prefixes[marks.at(-1) ?? -1]?.tokens ?? 0;
      return {
        input_tokens: prefixes.at(-1)?.tokens ?? 0,
        read_tokens,
        write_tokens: Math.max(0, marked_tokens - read_tokens),
      };
    },
  };
}

interface Prefix {
  readonly key: string;
  readonly tokens: number;
}

function prefixesOf(blocks: readonly PromptBlock[], scope: string): readonly Prefix[] {
  let key = digest(scope);
  let bytes = 0;
  return blocks.map((block) => {
    key = digest(`${key}${block.text}`);
    bytes += Buffer.byteLength(block.text);
    return { key, tokens: Math.floor(bytes / BYTES_PER_TOKEN) };
  });
}

function digest(value: string): string {
  return createHash("sha256").update(value).digest("base64");
}

export interface PrefixCacheOptions {
  /** A prefix is read in steps of this many tokens. OpenAI: 128; DeepSeek: 64. */
  readonly step_tokens: number;
  /** Shorter ones are not read. OpenAI: 1024; DeepSeek: 64. */
  readonly minimum_tokens: number;
}

export interface PrefixCache {
  use(prompt: string, scope?: string): CachedInput;
}

/** The cache of vendors that need no marks: the longest prefix that any earlier request began with. */
export function createPrefixCache({ step_tokens, minimum_tokens }: PrefixCacheOptions): PrefixCache {
  const seen = new Set<string>();
  return {
    use(prompt, scope = "") {
      const bytes = Buffer.from(prompt);
      const size = step_tokens * BYTES_PER_TOKEN;
      let key = digest(scope);
      let read_tokens = 0;
      for (let end = size; end <= bytes.length; end += size) {
        key = digest(`${key}${bytes.toString("base64", end - size, end)}`);
        if (seen.has(key)) read_tokens = end / BYTES_PER_TOKEN;
        seen.delete(key);
        seen.add(key);
      }
      for (const oldest of seen) if (seen.size > MAX_ENTRIES) seen.delete(oldest);
      return {
        input_tokens: Math.ceil(bytes.length / BYTES_PER_TOKEN),
        read_tokens: read_tokens < minimum_tokens ? 0 : read_tokens,
        write_tokens: 0,
      };
    },
  };
}

function ttlOf(mark: unknown): Pick<PromptBlock, "ttl_s"> {
  const { type, ttl } = record(mark);
  return type === undefined ? {} : { ttl_s: ttl === "1h" ? 3600 : FIVE_MINUTES_S };
}

/** `head`: what stands before the block, so that a change of role or of a setting is a change of the prefix. */
function blockOf(head: string, value: unknown): PromptBlock {
  const { cache_control, ...rest } = record(value);
  return { text: head + (typeof value === "string" ? value : JSON.stringify(rest)), ...ttlOf(cache_control) };
}

function contentBlocks(head: string, content: unknown): readonly PromptBlock[] {
  const blocks = typeof content === "string" ? [content] : list(content);
  return blocks.map((block, i) => blockOf(i === 0 ? head : "", block));
}

/** A request to Anthropic's messages as it is cached: tools, system, messages. */
export function anthropicBlocks(body: Json): readonly PromptBlock[] {
  const { tools, system, messages, tool_choice, thinking, cache_control } = body;
  // A change of these leaves the cache of tools and system, and takes that of the messages.
  const settings = JSON.stringify([tool_choice ?? null, thinking ?? null]);
  const blocks = [
    ...list(tools).map((tool) => blockOf("tool:", tool)),
    ...contentBlocks("system:", system),
    ...list(messages).flatMap((message, i) => {
      const { role, content } = record(message);
      return contentBlocks(`${i === 0 ? settings : ""}${text(role)}:`, content);
    }),
  ];
  // On the request itself, the mark stands on the last block.
  return blocks.map((block, i) => (i === blocks.length - 1 ? { ...block, ...ttlOf(cache_control) } : block));
}

/** The same for a Claude behind chat completions, as OpenRouter has it: marks stand on parts of the content. */
export function chatBlocks(body: Json): readonly PromptBlock[] {
  const { tools, messages } = body;
  return [
    ...list(tools).map((tool) => blockOf("tool:", tool)),
    ...list(messages).flatMap((message) => {
      const { content, tool_calls, ...rest } = record(message);
      const head = `${JSON.stringify(rest)}:`;
      const said = contentBlocks(head, content);
      // Each call is a block of its own, as it becomes a `tool_use` there.
      return [...said, ...list(tool_calls).map((call, i) => blockOf(said.length + i === 0 ? head : "", call))];
    }),
  ];
}

/** What a prefix cache compares: the parts of a request that make up the prompt, in the order in which they are read. */
export function promptText({
  tools,
  system,
  systemInstruction,
  instructions,
  input,
  messages,
  contents,
}: Json): string {
  const parts = [tools, system, systemInstruction, instructions, ...[input, messages, contents].flatMap(list)];
  const said = typeof input === "string" ? [...parts, input] : parts;
  return said.map((part) => JSON.stringify(part) ?? "").join("\n");
}
