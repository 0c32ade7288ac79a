import type { ApiClientOptions } from "grammy";
import { openFetch } from "./open-fetch.ts";
import type { FetchOptions } from "./open-fetch.ts";

type Fetch = NonNullable<ApiClientOptions["fetch"]>;
type FetchInit = NonNullable<Parameters<Fetch>[1]>;

/** The answer is not Telegram's: it came from a proxy, a gateway or a login page. */
class NotTelegram extends Error {}

/**
 * Node's own `fetch` for Telegram's library, whose own one never notices that a connection broke in the middle of an
 * answer. It brings signals of another make, and may not be led elsewhere: the token is part of the address.
 */
export const nodeFetch = (async (url: Parameters<Fetch>[0], given: FetchInit = {}) => {
  const { signal, ...rest } = given;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  signal?.addEventListener("abort", end);
  if (signal?.aborted === true) end();
  try {
    const response = await openFetch(String(url), { ...(rest as Partial<FetchOptions>), signal: ending.signal });
    const text = await response.text(); // while the signal is still listened to
    if (!isAnswer(text)) throw new NotTelegram();
    return new Response(text, { status: response.status, statusText: response.statusText });
  } finally {
    signal?.removeEventListener("abort", end);
  }
}) as unknown as Fetch;

/** Telegram's library takes any JSON for an answer, and one without an `ok` for a refusal. */
function isAnswer(text: string): boolean {
  try {
    const { ok } = Object(JSON.parse(text)) as { readonly ok?: unknown };
    return typeof ok === "boolean";
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
