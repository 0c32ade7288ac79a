/**
 * A long run against the fake of Anthropic, with its prompt cache and its prices: what the window of the agent costs. No
 * clock and no chance decide: the same run gives the same figures.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "@autonous/runtime";
import type { Runtime } from "@autonous/runtime";
import { z } from "zod";
import { runAgent } from "../../packages/autonous/src/agent/loop.ts";
import type { AgentOptions, AgentOutcome } from "../../packages/autonous/src/agent/agent-run.ts";
import { createAiSdkProvider } from "../../packages/autonous/src/model/ai-sdk-provider.ts";
import { anthropicBlocks, createMarkedCache } from "../../emulators/fake-model/prompt-cache.ts";
import type { CachedInput, PromptBlock } from "../../emulators/fake-model/prompt-cache.ts";
import { startFakeModel } from "../../emulators/fake-model/server.ts";
import type { FakeModel, SeenRequest } from "../../emulators/fake-model/server.ts";

export interface Scene {
  readonly turns: number;
  /** What the server takes. */
  readonly real_tokens: number;
  /** What the agent believes at first. Default: the same. */
  readonly believed_tokens?: number;
  /** Of 100 results: this many have 20 kB; the others have up to 2 kB more than `least_bytes` (default 200). */
  readonly large_results: number;
  readonly least_bytes?: number;
  /** Messages of the user, each a task of its own in the same conversation. Default: 1. */
  readonly tasks?: number;
}

/** One request as it was billed. */
export interface Billed extends CachedInput {
  readonly isSummary: boolean;
  /** It begins with all of the request before it. */
  readonly isAppended: boolean;
}

export interface Simulated {
  readonly billed: readonly Billed[];
  /** Share of all input tokens that was read from the cache. */
  readonly read_share: number;
  /** The most that could have been read of requests of these sizes: all but what each turn added. */
  readonly readable_share: number;
  /** Requests of which less than half was read, the first one left out. */
  readonly cold: number;
  /** The least share that a request read, the first one left out. */
  readonly worst_read: number;
  readonly strides: number;
  readonly summaries: number;
  readonly refused: number;
  /** Of the real window: how full it was before each stride. */
  readonly fill: readonly number[];
  /** What the input cost per request, in tokens of plain input. */
  readonly cost: number;
  /** The same against requests of these sizes that were each appended to the one before, as without any stride. */
  readonly cost_ratio: number;
  readonly outcomes: readonly AgentOutcome["outcome"][];
}

const LARGE = 20_000;
/** Anthropic's prices against plain input. */
const READ_PRICE = 0.1;
const WRITE_PRICE = 1.25;

/** Numbers between 0 and 1, the same in every run. */
function makeNumbers(): () => number {
  let state = 20_25;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const WORDS =
  "const window value return import export function line of a file error at test path 42 0x1f { } ( ) ;".split(" ");

export function textOf(seed: number, length: number): string {
  const words: string[] = [];
  for (let at = 0, chars = 0; chars < length; at++) {
    const word = WORDS[(seed * 31 + at * 7 + ((at * at) % 13)) % WORDS.length] ?? "";
    words.push(at % 12 === 11 ? `${word} ${seed}.${at}\n` : word);
    chars += word.length + 1;
  }
  return words.join(" ").slice(0, length);
}

export const page = defineTool({
  name: "page",
  version: "1.0.0",
  description: "Give a page of text.",
  args: z.strictObject({ number: z.int(), length: z.int() }),
  returns: z.strictObject({}),
  required_permissions: [],
  side_effects: ["none"],
  risk: "low",
  permission_class: "readonly",
  idempotent: true,
  concurrency_safe: true,
  execute: async ({ number, length }) => ({ data: {}, stdout: textOf(number, length) }),
});

/** What the model does: mostly one call per turn, sometimes eight at once, and once fifty. */
function makeScript({
  turns,
  large_results,
  least_bytes = 200,
  tasks = 1,
}: Scene): Parameters<typeof startFakeModel>[0] {
  const next = makeNumbers();
  const perTask = Math.ceil(turns / tasks);
  let turn = 0;
  const lengthOf = (): number => (next() * 100 < large_results ? LARGE : least_bytes + Math.floor(next() * 2_000));
  return {
    key: null,
    script: ({ tools }) => {
      if (tools.length === 0) return { text: textOf(turn, 2_500) };
      turn += 1;
      if (turn % perTask === 0 || turn >= turns) return { text: `Part ${turn} is done.` };
      const calls = turn === 60 ? 50 : turn % 29 === 0 ? 8 : 1;
      return {
        text: textOf(turn, 150 + Math.floor(next() * 300)),
        calls: Array.from({ length: calls }, (_, at) => ({
          name: "page",
          arguments: { number: turn * 100 + at, length: calls === 1 ? lengthOf() : 400 },
        })),
      };
    },
  };
}

/** Plays the scene with the real loop over HTTP. */
export async function simulate(scene: Scene): Promise<Simulated> {
  const folder = await mkdtemp(join(tmpdir(), "autonous-cache-"));
  const seen: SeenRequest[] = [];
  const model = await startFakeModel({
    ...makeScript(scene),
    context_tokens: scene.real_tokens,
    keep_requests: 1,
    onRequest: (request) => void seen.push(request),
  });
  const runtime = await createRuntime({ roots: [folder], state_dir: join(folder, "state"), run_id: "run_1" });
  try {
    runtime.register(page);
    const outcomes = await converse(scene, runtime, model);
    return billOf(seen, scene, outcomes);
  } finally {
    await runtime.close();
    await model.close();
    await rm(folder, { recursive: true });
  }
}

async function converse(scene: Scene, runtime: Runtime, { url }: FakeModel): Promise<AgentOutcome["outcome"][]> {
  const provider = createAiSdkProvider({
    name: "anthropic:simulated",
    kind: "anthropic",
    model: "simulated",
    access: { base_url: `${url}/v1` },
  });
  const context_tokens = scene.believed_tokens ?? scene.real_tokens;
  const outcomes: AgentOutcome["outcome"][] = [];
  let before: Pick<AgentOptions["task"], "history" | "window"> = {};
  for (let task = 1; task <= (scene.tasks ?? 1); task++) {
    const text = `Look through the pages, part ${task}. ${textOf(task, 500)}`;
    const { outcome, messages, window } = await runAgent({
      runtime,
      provider,
      task: { text, task_id: `task_${task}`, ...before },
      limits: { max_turns: scene.turns + 1 },
      context_tokens,
      first_tools: ["page"],
    });
    outcomes.push(outcome);
    before = { ...(messages === undefined ? {} : { history: messages }), ...(window === undefined ? {} : { window }) };
  }
  return outcomes;
}

function billOf(seen: readonly SeenRequest[], scene: Scene, outcomes: Simulated["outcomes"]): Simulated {
  const cache = createMarkedCache({ now: () => 1 });
  const billed: Billed[] = [];
  const fill: number[] = [];
  let before: readonly PromptBlock[] = [];
  let size = 0;
  let cost = 0;
  let appended = 0;
  let news = 0;
  for (const { body } of seen.filter(({ status }) => status === 200)) {
    const blocks = anthropicBlocks(body);
    const used = cache.use(blocks);
    const isSummary = body["tools"] === undefined;
    const isAppended = !isSummary && before.every(({ text }, at) => text === blocks[at]?.text);
    if (!isSummary && !isAppended) fill.push(size / scene.real_tokens);
    billed.push({ ...used, isSummary, isAppended });
    cost += priceOf(used);
    if (isSummary) continue;
    const added = isAppended ? used.input_tokens - size : 0;
    news += added;
    appended += (used.input_tokens - added) * READ_PRICE + added * WRITE_PRICE;
    before = blocks;
    size = used.input_tokens;
  }
  const refused = seen.length - billed.length;
  const readable_share = 1 - news / billed.reduce((sum, each) => sum + (each.isSummary ? 0 : each.input_tokens), 0);
  return {
    ...sharesOf(billed),
    readable_share,
    refused,
    fill,
    cost: cost / billed.length,
    cost_ratio: cost / appended,
    outcomes,
  };
}

function priceOf({ input_tokens, read_tokens, write_tokens }: CachedInput): number {
  return input_tokens - read_tokens - write_tokens + read_tokens * READ_PRICE + write_tokens * WRITE_PRICE;
}

function sharesOf(
  billed: readonly Billed[],
): Omit<Simulated, "readable_share" | "refused" | "fill" | "cost" | "cost_ratio" | "outcomes"> {
  const total = (of: (each: Billed) => number): number => billed.reduce((sum, each) => sum + of(each), 0);
  const rounds = billed.filter(({ isSummary }) => !isSummary).slice(1);
  const shares = rounds.map(({ read_tokens, input_tokens }) => read_tokens / input_tokens);
  return {
    billed,
    read_share: total(({ read_tokens }) => read_tokens) / total(({ input_tokens }) => input_tokens),
    cold: shares.filter((share) => share < 0.5).length,
    worst_read: Math.min(...shares),
    strides: rounds.filter(({ isAppended }) => !isAppended).length,
    summaries: billed.filter(({ isSummary }) => isSummary).length,
  };
}
