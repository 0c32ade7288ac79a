/** What can be made to go wrong. */
import { badRequest } from "./refusal.ts";

/** What happens, for help and documentation. */
// oxfmt-ignore
export const FAULTS = {
  rate_limited:    "429 with retry_after (`retry_after_s`, 1)",
  server_error:    "500",
  bad_gateway:     "502, a page of HTML",
  gateway_json:    "503, JSON that is not Telegram's",
  unauthorized:    "401, as when the token was revoked",
  conflict:        "409, as when another program asks for updates too",
  blocked:         "403, as when the person has blocked the bot",
  reset_before:    "the connection is reset, and nothing was done",
  reset_after:     "it is done, and the connection is reset before the answer",
  cut_answer:      "it is done, and the answer is cut off in its middle",
  slow:            "the answer comes after `ms`",
  hang:            "no answer until the client gives up; nothing was done",
  hang_after:      "the request is processed, but no answer until the client gives up",
  link_expired:    "a download: 404, as when the address that getFile gave is too old",
  twice:           "getUpdates: each update comes twice, and the last ones that were confirmed come again",
  out_of_order:    "getUpdates: the newest comes first",
} as const;
export type FaultKind = keyof typeof FAULTS;
const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];

export interface FaultInput {
  readonly kind: FaultKind;
  /** The method that it applies to, or "download". Default: the next call that is not getUpdates. */
  readonly method?: string;
  /** Only what goes to this chat. */
  readonly chat?: number;
  /** Only what has these words in its text. */
  readonly text?: string;
  /** How often (default 1); "always" until the faults are cleared. */
  readonly times?: number | "always";
  readonly retry_after_s?: number;
  readonly ms?: number;
}

/** Kinds that apply to one method only. */
const ONLY_OF: Partial<Record<FaultKind, string>> = {
  twice: "getUpdates",
  out_of_order: "getUpdates",
  link_expired: "download",
};

const NUMBERS = ["chat", "retry_after_s", "ms"] as const;

/** Takes what came from outside too, and says what is wrong with it. */
export function checkFault(given: unknown): FaultInput {
  const fault = (typeof given === "object" && given !== null ? given : {}) as Readonly<Record<string, unknown>>;
  const { kind, method, text, times } = fault;
  if (!FAULT_KINDS.some((each) => each === kind))
    throw badRequest(`unknown fault "${String(kind)}" (one of ${FAULT_KINDS.join(", ")})`);
  if (method !== undefined && typeof method !== "string") throw badRequest("the method of a fault is its name");
  if (text !== undefined && typeof text !== "string") throw badRequest("the text of a fault is a part of what is sent");
  const isOften = times === undefined || times === "always" || (Number.isSafeInteger(times) && Number(times) > 0);
  if (!isOften) throw badRequest('the times of a fault are a number from 1, or "always"');
  for (const name of NUMBERS)
    if (fault[name] !== undefined && typeof fault[name] !== "number")
      throw badRequest(`the ${name} of a fault is a number`);
  const unknown = Object.keys(fault).find((name) => !["kind", "method", "text", "times", ...NUMBERS].includes(name));
  if (unknown !== undefined) throw badRequest(`a fault has no "${unknown}"`);
  const only = ONLY_OF[kind as FaultKind];
  if (only !== undefined && method !== undefined && method.toLowerCase() !== only.toLowerCase())
    throw badRequest(`the fault "${String(kind)}" applies to ${only} only, not to ${method}`);
  return fault as unknown as FaultInput;
}

interface FaultTarget {
  readonly chat?: number | undefined;
  readonly text?: string;
}

/** Each applies as often as it says, in the order in which they were added. */
export class FaultPlan {
  #left: { readonly fault: FaultInput; times: number }[] = [];

  add(fault: FaultInput): void {
    this.#left.push({ fault, times: fault.times === "always" ? Number.POSITIVE_INFINITY : (fault.times ?? 1) });
  }

  clear(): void {
    this.#left = [];
  }

  /** Those that have not applied yet. */
  get left(): readonly FaultInput[] {
    return this.#left.map(({ fault }) => fault);
  }

  next(method: string, { chat, text = "" }: FaultTarget = {}): FaultInput | undefined {
    const isMeant = (fault: FaultInput): boolean =>
      (fault.method === undefined ? isOf(fault.kind, method) : fault.method.toLowerCase() === method.toLowerCase()) &&
      (fault.chat === undefined || fault.chat === chat) &&
      (fault.text === undefined || text.includes(fault.text));
    const found = this.#left.find(({ fault }) => isMeant(fault));
    if (found === undefined) return undefined;
    found.times -= 1;
    if (found.times === 0) this.#left = this.#left.filter((each) => each !== found);
    return found.fault;
  }
}

/** A poll is nearly always open: a fault without a method applies to other calls, unless it is about updates. */
function isOf(kind: FaultKind, method: string): boolean {
  const only = ONLY_OF[kind];
  return only === undefined ? method !== "getUpdates" : method === only;
}
