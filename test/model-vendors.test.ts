import { expect, onTestFinished, test } from "vitest";
import { makeWorld, openJournal, startRuntime } from "./support/agent-world.ts";
import type { World } from "./support/agent-world.ts";
import { seeded } from "./support/seeded.ts";
import type { Billed } from "../emulators/fake-model/books.ts";
import type { Conversation, FormatName } from "../emulators/fake-model/formats/format.ts";
import { QUIRKS, quirksOf } from "../emulators/fake-model/quirks/quirks.ts";
import type { FaultInput, Round } from "../emulators/fake-model/script.ts";
import { startFakeModel } from "../emulators/fake-model/server.ts";
import type { FakeModel, SeenRequest } from "../emulators/fake-model/server.ts";
import { makeVendor, VENDOR_NAMES } from "../emulators/fake-model/vendors/vendors.ts";
import type { VendorName } from "../emulators/fake-model/vendors/vendors.ts";
import { createAiSdkProvider } from "../packages/autonous/src/model/ai-sdk-provider.ts";
import type { ModelKind } from "../packages/autonous/src/model/vendors/ai-sdk-models.ts";
import { CircuitBreaker } from "../packages/autonous/src/model/failures/circuit-breaker.ts";
import type { ModelProvider, SpentUsage } from "../packages/autonous/src/model/provider.ts";
import { runAgent } from "../packages/autonous/src/agent/loop.ts";

const TURNS = 50;
/** Another one plays another run: `VENDOR_SEED=7 npx vitest run test/model-vendors.test.ts`. */
const SEED = Number(process.env["VENDOR_SEED"] ?? 14);
const OVERFLOW_ROUND = 40;

interface Line {
  readonly vendor: VendorName;
  readonly kind: ModelKind;
  readonly format: FormatName;
  readonly path: string;
}

const chat = (vendor: VendorName): Line => ({ vendor, kind: "compatible", format: "openai-chat", path: "/v1" });

/** Each vendor by the kind of model that its users name, and some by their door in Anthropic's format. */
const LINES: readonly Line[] = [
  { vendor: "anthropic", kind: "anthropic", format: "anthropic", path: "/v1" },
  { vendor: "openai", kind: "openai", format: "openai-responses", path: "/v1" },
  { vendor: "openai", kind: "openai-chat", format: "openai-chat", path: "/v1" },
  { vendor: "google", kind: "google", format: "gemini", path: "/v1beta" },
  ...VENDOR_NAMES.filter((name) => name !== "anthropic" && name !== "openai").map((name) => chat(name)),
  { vendor: "deepseek", kind: "anthropic", format: "anthropic", path: "/anthropic/v1" },
  { vendor: "kimi", kind: "anthropic", format: "anthropic", path: "/anthropic/v1" },
  { vendor: "openrouter", kind: "anthropic", format: "anthropic", path: "/v1" },
];

// oxfmt-ignore
const FAULTS = [
  "reset", "cut_before_content", "cut_after_content", "cut_in_call", "cut_in_character", "rate_limited", "server_error", "unavailable",
  "overloaded", "error_in_stream", "malformed_chunk", "wrong_content_type", "length",
] as const;

/** A final answer of 10 MB would be the end of the run. */
const LEFT_OUT: ReadonlySet<string> = new Set(["huge_answer"]);
const LASTING: ReadonlySet<string> = new Set(["gives up", "shows the refusal"]);
const OVERFLOW = /^context_overflow|more_than_a_minute/;

/** Every second round goes wrong in a way of its own. A small conversation cannot be made smaller: one overflow, and late. */
function disturbances({ format }: Line, random: (below: number) => number): readonly FaultInput[] {
  const quirks = quirksOf(format).filter((name) => !LASTING.has(QUIRKS[name].client) && !LEFT_OUT.has(name));
  const kinds: readonly FaultInput["kind"][] = [...quirks, ...FAULTS];
  const [overflows, others] = [true, false].map((wanted) => kinds.filter((kind) => OVERFLOW.test(kind) === wanted));
  return Array.from({ length: 2 * TURNS }, (_, i) => {
    const round = 2 * (i + 1);
    const fitting = (round === OVERFLOW_ROUND ? overflows : others) ?? [];
    const kind = fitting[random(fitting.length)] ?? "server_error";
    return { kind, round, retry_after_s: 0, clean: random(2) === 0 };
  });
}

const ANSWER = `All ${TURNS} marks are set.`;
const NOTE = "one line of a note that takes its place in the window\n".repeat(10);

/** A model that sets its marks one after the other: what it asks for next depends on what was done. */
function worker(world: World): (conversation: Conversation) => Round {
  return ({ tools, messages }) => {
    if (tools.length === 0) return { text: "Some of the marks are set." }; // a summary
    const next = Array.from({ length: TURNS }, (_, i) => i + 1).find((n) => !world.effects.has(`stamp ${n}`));
    if (next === undefined) {
      // An answer that was cut off is continued where it stopped.
      const said = messages.findLast(({ role }) => role === "assistant")?.text ?? "";
      return { text: ANSWER.startsWith(said) ? ANSWER.slice(said.length) : ANSWER };
    }
    return {
      ...(next % 3 === 0 ? { reasoning: `Mark ${next} is next.` } : {}),
      ...(next % 4 === 0 ? { text: `I set mark ${next}.` } : {}),
      calls: [
        { name: "stamp", arguments: { mark: String(next) } },
        { name: "look", arguments: { mark: `${next} ${NOTE}` } },
      ],
    };
  };
}

function connect({ vendor, kind, path }: Line, { url }: FakeModel): ModelProvider {
  const { model } = makeVendor(vendor);
  return createAiSdkProvider({
    name: `${kind}:${model}`,
    kind,
    model,
    access: { base_url: `${url}/${vendor}${path}`, key: "sk-test-Zx81kQmPw02Lr5Vt" },
    retry: { max_attempts: 5, base_ms: 1, longest_ms: 2, total_ms: 60_000 },
    breaker: new CircuitBreaker("test", { threshold: 1000, cooldown_ms: 1, longest_ms: 1, clock: Date.now }),
  });
}

/** Requests that were sent again as they were, though the one before was answered with all of a reply. */
function askedTwice(requests: readonly SeenRequest[]): readonly string[] {
  return requests.flatMap((before, i) => {
    const after = requests[i + 1];
    const wasAnswered = after !== undefined && after.round > before.round;
    const isSame = JSON.stringify(before.body) === JSON.stringify(after?.body);
    return wasAnswered && isSame ? [`round ${before.round}, ${before.fault ?? "undisturbed"}`] : [];
  });
}

function bookingsOf({ events }: World): readonly SpentUsage[] {
  return events
    .filter(({ type }) => type === "model.completed" || type === "model.billed")
    .flatMap(({ payload }) => (payload["usage"] === null ? [] : [payload["usage"] as SpentUsage]));
}

/** What is wrong in the books: each booking belongs to a request that was billed, in the same order. */
function bookErrors(bookings: readonly SpentUsage[], billed: readonly SeenRequest[]): readonly string[] {
  const counted = `${bookings.length} bookings for ${billed.length} bills`;
  return [
    ...(bookings.length === billed.length ? [] : [counted]),
    ...billed.flatMap((request, i) => {
      const booked = bookings[i];
      const isRight =
        booked !== undefined && (booked.estimated ? isNear(booked, request.billed) : isEqual(booked, request.billed));
      const { round, fault = "undisturbed" } = request;
      return isRight
        ? []
        : [`round ${round}, ${fault}: ${JSON.stringify(booked)} for ${JSON.stringify(request.billed)}`];
    }),
  ];
}

function isEqual(booked: SpentUsage, billed: Billed): boolean {
  return (
    booked.input_tokens === billed.input_tokens &&
    booked.output_tokens === billed.output_tokens &&
    (booked.cached_input_tokens ?? 0) === billed.cached_input_tokens &&
    (booked.cache_write_tokens ?? 0) === billed.cache_write_tokens
  );
}

/** The order of magnitude, for an attempt whose provider did not report usage: a torn stream cannot be counted exactly. */
function isNear(booked: SpentUsage, billed: Billed): boolean {
  const input = booked.input_tokens / billed.input_tokens;
  return input > 0.5 && input < 2 && Math.abs(booked.output_tokens - billed.output_tokens) < 500;
}

test.each(LINES)("$vendor by $kind: 50 turns, every second one disturbed", async (line) => {
  const world = await makeWorld();
  const faults = disturbances(line, seeded(SEED + LINES.indexOf(line)));
  const model = await startFakeModel({ script: worker(world), faults });
  onTestFinished(() => model.close());
  const runtime = await startRuntime(world, openJournal(world));
  const task = { text: "Set the marks", task_id: "task_1", trace_id: "trace_1" };
  const outcome = await runAgent({ runtime, provider: connect(line, model), task, limits: { max_turns: 4 * TURNS } });

  const { requests } = model;
  const recent = requests
    .slice(-6)
    .map(({ round, fault = "", status, violations }) => `${round} ${fault} ${status} ${violations.join()}`);
  expect(outcome, [outcome.error?.message, ...recent].join("\n")).toMatchObject({
    outcome: "completed",
    answer: ANSWER,
  });
  const stamps = [...world.effects].filter(([key]) => key.startsWith("stamp "));
  expect(stamps).toEqual(Array.from({ length: TURNS }, (_, i) => [`stamp ${i + 1}`, 1]));
  expect(new Set(requests.map(({ fault }) => fault)).size).toBeGreaterThan(10);
  expect(requests.flatMap(({ violations, fault }) => violations.map((each) => `${fault ?? ""}: ${each}`))).toEqual([]);
  expect(askedTwice(requests)).toEqual([]);
  const bookings = bookingsOf(world);
  expect(
    bookErrors(
      bookings,
      requests.filter(({ billed }) => billed.input_tokens > 0),
    ),
  ).toEqual([]);
  const sum = (name: "input_tokens" | "output_tokens"): number => bookings.reduce((all, each) => all + each[name], 0);
  expect(outcome.usage).toMatchObject({ input_tokens: sum("input_tokens"), output_tokens: sum("output_tokens") });
});
