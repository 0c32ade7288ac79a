import type { FailureReason } from "./model-failure.ts";

interface ReasonWords {
  readonly reason: FailureReason;
  readonly words: RegExp;
  /** Statuses for which these words have another meaning. */
  readonly notWith?: readonly number[];
}

/**
 * Known server messages, independent of the status. The first matching row wins. Google uses "quota" for every limit,
 * so that word alone is not enough.
 */
// oxfmt-ignore
const WORDED: readonly ReasonWords[] = [
  { reason: "quota",          words: /insufficient[ _-]?(?:user[ _-])?(?:quota|balance|credits?|funds)|billing_hard_limit|billing_not_active|exceeded_current_quota|credit balance (?:is )?too low|(?:not enough|out of|no remaining|no more) (?:credits?|balance|funds)|(?:doesn['’]?t|does not) have any credits|used (?:all|up) (?:of )?(?:your |the |its )?(?:available |monthly |included )?credits|(?:monthly|hard|usage) spending limit|spending limit (?:has been )?reached|requires more credits|can only afford|purchase (?:more )?credits|arrearage|overdue[ -]payment|not in good standing|negative balance|credits? (?:are |is |have been |has been )?(?:depleted|exhausted)|credit limit exceeded|FreeTierOnly|余额不足|欠费|账户余额/i },
  { reason: "key_refused",    words: /API_KEY_INVALID|API[ _-]?key (?:is )?(?:not valid|invalid|expired|missing|required)|(?:invalid|incorrect|wrong|missing)[ _-]?(?:x-)?api[ _-]?key|invalid_authentication|authentication (?:fails|failed)|no auth credentials|invalid (?:bearer|access) token|InvalidApiKey|令牌|身份验证/i, notWith: [429] },
  { reason: "not_found",      words: /model[ _]not[ _](?:found|exist)|model (?:['"`]?[\w./:@-]{1,100}['"`]? )?(?:does not exist|doesn['’]t exist|was not found|is not found|not found)|not a valid model|(?:invalid|unknown|no such) model(?! output)|no (?:endpoints|allowed providers) (?:found|are available)|model_not_supported|模型不存在/i, notWith: [429, 500, 502, 503, 504] },
  { reason: "content_filter", words: /content_policy_violation|content management policy|responsibleaipolicy|data_?inspection_?failed|Content Exists Risk|usage policy|flagged as potentially violating|prompt was flagged|high risk content|敏感内容/i, notWith: [429] },
];

/** Vendor codes in answers without a meaningful status. */
// oxfmt-ignore
const CODED: readonly { readonly reason: FailureReason; readonly codes: readonly string[] }[] = [
  { reason: "rate_limited",   codes: ["1002", "1039", "1302", "1303", "1304", "1308"] },                                      // MiniMax; Z.ai
  { reason: "key_refused",    codes: ["1004", "2049", "1000", "1001", "1003"] },                                              // MiniMax; Z.ai
  { reason: "quota",          codes: ["1008", "1113"] },                                                                      // MiniMax; Z.ai
  { reason: "content_filter", codes: ["1026", "1027", "1301"] },                                                              // MiniMax; Z.ai
  { reason: "bad_request",    codes: ["2013", "1210", "1213", "1214"] },                                                      // MiniMax; Z.ai
  { reason: "not_found",      codes: ["1211"] },                                                                              // Z.ai
  { reason: "server_error",   codes: ["1013", "1024", "1033", "1305", "1234"] },                                              // MiniMax; Z.ai
];

/** Errors inside a stream have a name instead of a status. */
// oxfmt-ignore
const NAMED: readonly { readonly name: RegExp; readonly reason: FailureReason }[] = [
  { name: /rate_?limit|RESOURCE_EXHAUSTED|resource has been exhausted|too_many_requests|throttl/i,     reason: "rate_limited" },
  { name: /authentication|permission|invalid_api_key|UNAUTHENTICATED|unauthorized/i,                  reason: "key_refused" },
  { name: /not[ _]found/i,                                                                            reason: "not_found" },
  { name: /overloaded|api_error|server_?error|internal|unavailable|timeout|upstream|capacity/i,       reason: "server_error" },
  { name: /invalid_request|INVALID_ARGUMENT|invalid argument|invalid_prompt|bad_?request|invalid_param|validation/i, reason: "bad_request" },
];

interface StatusRow {
  readonly from: number;
  readonly to: number;
  readonly reason: FailureReason;
}

/** The first matching row wins. */
// oxfmt-ignore
const STATUSES: readonly StatusRow[] = [
  { from: 401, to: 401, reason: "key_refused" },
  { from: 402, to: 402, reason: "quota" },
  { from: 403, to: 403, reason: "key_refused" },
  { from: 404, to: 404, reason: "not_found" },
  { from: 407, to: 407, reason: "proxy" },
  { from: 408, to: 408, reason: "timeout" },
  { from: 409, to: 409, reason: "server_error" }, // concurrent requests for one resource: a retry may succeed
  { from: 413, to: 413, reason: "context_length" },
  { from: 424, to: 425, reason: "server_error" }, // 424: the model backend failed (TGI, Bedrock)
  { from: 429, to: 429, reason: "rate_limited" },
  { from: 501, to: 501, reason: "bad_request" },
  { from: 500, to: 599, reason: "server_error" },
  { from: 400, to: 499, reason: "bad_request" },
];

/** By the server's message; undefined if unknown. */
export function reasonInWords(said: readonly string[], status: number | undefined): FailureReason | undefined {
  const text = said.join("\n");
  const isMeant = ({ words, notWith = [] }: ReasonWords): boolean =>
    words.test(text) && (status === undefined || !notWith.includes(status));
  return WORDED.find(isMeant)?.reason;
}

/** By vendor code. */
export function reasonOfCode(said: readonly string[], status: number | undefined): FailureReason | undefined {
  if (status !== undefined && status !== 429 && status !== 400) return undefined;
  return CODED.find(({ codes }) => codes.some((code) => said.includes(code)))?.reason;
}

export function reasonOfStatus(status: number): FailureReason {
  return STATUSES.find(({ from, to }) => status >= from && status <= to)?.reason ?? "bad_request";
}

/** By `type` and `code` of an error without a status. */
export function reasonOfName(words: string): FailureReason | undefined {
  return NAMED.find(({ name }) => name.test(words))?.reason;
}

/** The server could not parse a call written by the model, and sent an error instead of the reply. */
const UNREADABLE_CALL =
  /tool_use_failed|failed to call a function|(?:failed to|could not|cannot|can['’]t|error|unable to)[ _](?:pars(?:e|ing)|decod(?:e|ing))[ _](?:the )?(?:model['’]?s? )?(?:tool|function)[ _-]?calls?|tool[ _-]call (?:parsing|validation) (?:error|failed)|error parsing tool call/i;
const UNREADABLE_WITH: ReadonlySet<number | undefined> = new Set([undefined, 400, 422, 500]);

export function isUnreadableCall(said: readonly string[], status: number | undefined): boolean {
  return UNREADABLE_WITH.has(status) && said.some((each) => UNREADABLE_CALL.test(each));
}
