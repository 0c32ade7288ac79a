/** What a server holds: its script, its faults, its vendors and its books. */
import { echo } from "./behaviours.ts";
import type { Responder } from "./behaviours.ts";
import { addBills, createCache, NOT_BILLED } from "./books.ts";
import type { Billed, Cache } from "./books.ts";
import type { FaultKind } from "./fault-kinds.ts";
import { planFaults } from "./faults.ts";
import type { FaultPlan } from "./faults.ts";
import { anthropic } from "./formats/anthropic.ts";
import type { Format, FormatName, Json, WireRequest } from "./formats/format.ts";
import { gemini } from "./formats/gemini.ts";
import { compatibleChat, openaiChat } from "./formats/openai-chat.ts";
import { makeOpenaiResponses } from "./formats/openai-responses.ts";
import type { QuirkName } from "./quirks/quirks.ts";
import { chaosSchema, faultsSchema, parseAs, scriptSchema } from "./script.ts";
import type { ChaosInput, FaultInput, Round, Script } from "./script.ts";
import { makeVendor, VENDOR_NAMES } from "./vendors/vendors.ts";
import type { Vendor, VendorName } from "./vendors/vendors.ts";

export interface FakeModelOptions {
  /** What it says: rounds, or a function of what was said to it. Without one it repeats the last message. */
  readonly script?: Script | Responder;
  readonly faults?: readonly FaultInput[];
  readonly chaos?: ChaosInput;
  /** The one key that is right. Not said: any, and below `/compatible` and local servers none is needed; `null`: none is needed anywhere. */
  readonly key?: string | null;
  /** The models that there are. Not said: any. */
  readonly models?: readonly string[];
  readonly context_tokens?: number;
  readonly limit_bytes?: number;
  /** How many characters a piece of a stream has. */
  readonly piece_characters?: number;
  /** 0, and not said: a free one. */
  readonly port?: number;
  /** How many requests are remembered; the oldest are forgotten first. */
  readonly keep_requests?: number;
  readonly onRequest?: (request: SeenRequest) => void;
}

/** A request that came, and what became of it. */
export interface SeenRequest {
  readonly format: FormatName;
  /** Below whose path it came. */
  readonly vendor: VendorName | undefined;
  readonly path: string;
  readonly model: string;
  readonly stream: boolean;
  /** Without those that carry a key. */
  readonly headers: Json;
  readonly key: string | undefined;
  readonly body: Json;
  readonly bytes: number;
  /** From 1. One that is asked again is the same. */
  readonly round: number;
  /** As `performance.now` counts: when it came, and when the last byte of the answer was handed over. */
  readonly received_ms: number;
  /** The rules of the vendor that it breaks, in the vendor's words. */
  violations: readonly string[];
  /** What is billed for it. Nothing for one that was refused. */
  billed: Billed;
  answered_ms?: number;
  status?: number;
  fault?: FaultKind | QuirkName;
}

/** What stands behind an address: a vendor, or a format without one. */
export interface Door {
  readonly vendor: Vendor | undefined;
  readonly format: Format;
  readonly cache: Cache;
}

export interface State {
  readonly options: FakeModelOptions;
  readonly plan: FaultPlan;
  readonly requests: SeenRequest[];
  billed: Billed;
  /** Rounds that were sent to their end. */
  spent: number;
  /** Replies so far: each has ids of its own. */
  made: number;
  /** Rounds whose quirk gave no reply: it befalls a round once. */
  readonly befallen: Set<number>;
  door(path: string): Door | undefined;
  respond(request: WireRequest, format: Format, round: number): Promise<Round | undefined>;
}

export function openState(options: FakeModelOptions): State {
  const script = options.script ?? echo;
  const rounds = typeof script === "function" ? undefined : parseAs(scriptSchema, script, "the script");
  const faults = [...parseAs(faultsSchema, options.faults ?? [], "the faults"), ...(rounds?.faults ?? [])];
  const given = options.chaos === undefined ? undefined : parseAs(chaosSchema, options.chaos, "the chaos");
  return {
    options,
    plan: planFaults(faults, given ?? rounds?.chaos),
    requests: [],
    billed: NOT_BILLED,
    spent: 0,
    made: 0,
    befallen: new Set(),
    door: openDoors(),
    async respond(request, format, round) {
      if (typeof script === "function") return await script(format.conversation(request));
      const all = rounds?.rounds ?? [];
      return rounds?.repeat === true ? all[(round - 1) % all.length] : all[round - 1];
    },
  };
}

function openDoors(): State["door"] {
  const none = createCache(undefined);
  const formats = [compatibleChat, openaiChat, makeOpenaiResponses(), anthropic, gemini];
  const vendors = new Map<string, { readonly vendor: Vendor; readonly cache: Cache }>();
  return (path) => {
    const name = VENDOR_NAMES.find((each) => path.startsWith(`/${each}/`));
    if (name === undefined) {
      const format = formats.find((each) => each.matches(path));
      return format === undefined ? undefined : { vendor: undefined, format, cache: none };
    }
    const known = vendors.get(name) ?? { vendor: makeVendor(name), cache: createCache(makeVendor(name).cache) };
    vendors.set(name, known);
    const format = known.vendor.formats.find((each) => each.matches(path));
    return format === undefined ? undefined : { ...known, format };
  };
}

/** What is billed for a request is known before its answer goes out. */
export function bill(state: State, seen: SeenRequest, billed: Billed): void {
  seen.billed = billed;
  state.billed = addBills(state.billed, billed);
}
