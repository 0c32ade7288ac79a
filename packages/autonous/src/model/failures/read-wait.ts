type Headers = Readonly<Record<string, string>>;

/** Rate limit headers with the remaining amount and the reset time: wait for the reset if nothing remains. */
// oxfmt-ignore
const LIMITS = [
  { remaining: "x-ratelimit-remaining-requests",             reset: "x-ratelimit-reset-requests" },
  { remaining: "x-ratelimit-remaining-tokens",               reset: "x-ratelimit-reset-tokens" },
  { remaining: "anthropic-ratelimit-requests-remaining",      reset: "anthropic-ratelimit-requests-reset" },
  { remaining: "anthropic-ratelimit-tokens-remaining",        reset: "anthropic-ratelimit-tokens-reset" },
  { remaining: "anthropic-ratelimit-input-tokens-remaining",  reset: "anthropic-ratelimit-input-tokens-reset" },
  { remaining: "anthropic-ratelimit-output-tokens-remaining", reset: "anthropic-ratelimit-output-tokens-reset" },
] as const;

/** Google puts it in the body: `"retryDelay": "34s"`. */
const IN_BODY = /"retryDelay"\s*:\s*"(\d{1,7}(?:\.\d{1,9})?)s"/;
/** `6m0s`, `1.5s`, `120ms`. */
const DURATION = /^(?:(\d{1,5})h)?(?:(\d{1,5})m(?!s))?(?:(\d{1,7}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?$/;

/** Wait requested by a server, in any of the known forms; undefined if it names none. */
export function readWait(headers: Headers, body: string, nowMs: number): number | undefined {
  return (
    inMilliseconds(headers["retry-after-ms"]) ??
    retryAfter(headers["retry-after"], nowMs) ??
    inBody(body) ??
    untilReset(headers, nowMs)
  );
}

function inMilliseconds(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,10}(?:\.\d+)?$/.test(value.trim()) ? Math.ceil(Number(value)) : undefined;
}

function retryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,8}(?:\.\d+)?$/.test(value.trim())) return Math.ceil(Number(value) * 1000);
  return untilDate(value, nowMs);
}

function untilDate(value: string, nowMs: number): number | undefined {
  // Date.parse would read a bare number as a year.
  const at = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

function inBody(body: string): number | undefined {
  const seconds = IN_BODY.exec(body)?.[1];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000);
}

function untilReset(headers: Headers, nowMs: number): number | undefined {
  const waits = LIMITS.filter(({ remaining }) => headers[remaining]?.trim() === "0").flatMap(({ reset }) => {
    const value = headers[reset]?.trim() ?? "";
    const wait = durationMs(value) ?? untilDate(value, nowMs);
    return wait === undefined ? [] : [wait];
  });
  return waits.length === 0 ? undefined : Math.max(...waits);
}

function durationMs(value: string): number | undefined {
  const match = value === "" ? null : DURATION.exec(value);
  if (match === null) return undefined;
  const [, hours = "0", minutes = "0", seconds = "0", milliseconds = "0"] = match;
  return Math.ceil(((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(milliseconds));
}
