/** What servers are known for, by vendor: each answer is used, shown or asked for again as its kind wants it. */
import { expect, onTestFinished, test } from "vitest";
import { QUIRKS, quirksOf } from "../../../../emulators/fake-model/quirks/quirks.ts";
import type { FormatName } from "../../../../emulators/fake-model/formats/format.ts";
import type { QuirkName } from "../../../../emulators/fake-model/quirks/quirks.ts";
import { startFakeModel } from "../../../../emulators/fake-model/server.ts";
import { makeVendor, VENDOR_NAMES } from "../../../../emulators/fake-model/vendors/vendors.ts";
import { createAiSdkProvider } from "./ai-sdk-provider.ts";
import type { ModelKind } from "./vendors/ai-sdk-models.ts";
import { CircuitBreaker } from "./failures/circuit-breaker.ts";
import { failureReason } from "./failures/model-failure.ts";
import type { ModelReply } from "./provider.ts";

const TOOLS = [
  { name: "read", description: "Read.", args_schema: { type: "object", properties: { path: { type: "string" } } } },
];
const REQUEST = { system: "Be brief.", messages: [{ role: "user", text: "Hi." }], rounds: 0, tools: TOOLS } as const;

// oxfmt-ignore
const KINDS: Readonly<Record<string, readonly [ModelKind, FormatName, string]>> = {
  anthropic: ["anthropic",  "anthropic",        "/v1"],
  google:    ["google",     "gemini",           "/v1beta"],
  openai:    ["openai",     "openai-responses", "/v1"],
};

/** How each outcome looks from here: how often it was asked, and what came of it. */
const WANTED: Readonly<Record<string, { readonly asked: number; readonly reasons?: RegExp }>> = {
  "uses it": { asked: 1 },
  "tells the model": { asked: 1 },
  retries: { asked: 2 },
  "gives up": { asked: 1, reasons: /^(?:bad_request|quota|key_refused|not_found)$/ },
  "shows the refusal": { asked: 1, reasons: /^(?:refused|content_filter)$/ },
  compacts: { asked: 1, reasons: /^(?:context_length|rate_limited)$/ },
};

/** Where a vendor's words say less, or the provider does more, than the kind of the quirk asks for. */
// oxfmt-ignore
const OTHERWISE: readonly { readonly vendor: RegExp; readonly quirk: RegExp; readonly asked: number; readonly reasons?: undefined }[] = [
  { vendor: /./,               quirk: /^context_overflow_reply$/, asked: 2 },                           // a shorter reply is asked for at once
  { vendor: /^lmstudio$/,      quirk: /^error_in_200/,            asked: 2 },  // an error without a type
  { vendor: /^(lmstudio|tgi)$/, quirk: /^out_of_credit$/,         asked: 2 },  // words that Google has for a limit per minute
];

interface QuirkOutcome {
  readonly reply?: ModelReply;
  readonly error?: unknown;
  readonly asked: number;
}

async function ask(vendor: (typeof VENDOR_NAMES)[number], quirk: QuirkName): Promise<QuirkOutcome> {
  const [kind, , path] = KINDS[vendor] ?? ["compatible", "openai-chat", "/v1"];
  const round = { text: "Let me look.", calls: [{ name: "read", arguments: { path: "a" } }], quirk };
  const server = await startFakeModel({ script: { rounds: [round] }, key: null });
  onTestFinished(() => server.close());
  const provider = createAiSdkProvider({
    name: `${kind}:m`,
    kind,
    model: makeVendor(vendor).model,
    access: { base_url: `${server.url}/${vendor}${path}`, key: "k" },
    retry: { max_attempts: 5, base_ms: 1, longest_ms: 2, total_ms: 60_000 },
    times: { first_byte_ms: 60_000, idle_ms: 60_000, whole_ms: 60_000, quiet_ms: 50 },
    breaker: new CircuitBreaker("test", { threshold: 1000, cooldown_ms: 1, longest_ms: 1, clock: Date.now }),
  });
  try {
    const reply = await provider.complete(REQUEST, { signal: new AbortController().signal });
    return { reply, asked: server.requests.length };
  } catch (error) {
    return { error, asked: server.requests.length };
  }
}

for (const vendor of VENDOR_NAMES) {
  const format = KINDS[vendor]?.[1] ?? "openai-chat";
  for (const quirk of quirksOf(format)) {
    const { client, about } = QUIRKS[quirk];
    test(`${vendor}: after "${about}" the client ${client}`, async () => {
      const { reply, error, asked } = await ask(vendor, quirk);
      const otherwise = OTHERWISE.find((row) => row.vendor.test(vendor) && row.quirk.test(quirk));
      const wanted = otherwise ?? WANTED[client];
      if (wanted?.reasons === undefined) expect([error, reply?.kind]).toEqual([undefined, "native"]);
      else expect(failureReason(error)).toMatch(wanted.reasons);
      expect(asked).toBe(wanted?.asked);
    });
  }
}
