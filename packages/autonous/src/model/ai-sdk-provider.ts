import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { redact } from "@autonous/runtime";
import type { EnvironmentProxy } from "@autonous/runtime/internal";
import { KINDS } from "./vendors/ai-sdk-models.ts";
import type { KindRow, ModelKind } from "./vendors/ai-sdk-models.ts";
import { makePrompt } from "./prompt/ai-sdk-prompt.ts";
import { chatCacheMark, markParts } from "./vendors/compatible-chat.ts";
import { readReply } from "./ai-sdk-reply.ts";
import { breakerFor } from "./failures/circuit-breaker.ts";
import type { CircuitBreaker } from "./failures/circuit-breaker.ts";
import { contextTokens } from "./vendors/context-tokens.ts";
import { AttemptFailed, modelFailed, REASONS } from "./failures/model-failure.ts";
import type { Failure } from "./failures/model-failure.ts";
import { createGuardedFetch, REPLY_TIMES } from "./wire/guarded-fetch.ts";
import type { ReplyTimes } from "./wire/guarded-fetch.ts";
import type { Access } from "./keys.ts";
import { failureText } from "./failures/failure-text.ts";
import { claudeRow } from "./vendors/claude-models.ts";
import type { ModelSettings } from "./vendors/model-settings.ts";
import { askFitting, inputTokens, replyTokens, wantsNewName } from "./vendors/output-limits.ts";
import { beginsWithThought, callOptions, planReply } from "./vendors/reply-settings.ts";
import type { ReplyPlan } from "./vendors/reply-settings.ts";
import { makePlainPrompt } from "./prompt/plain-messages.ts";
import type { CompleteOptions, ModelProvider, ModelReply, ModelRequest } from "./provider.ts";
import { readFailure } from "./failures/read-failure.ts";
import { RETRY, withRetries } from "./failures/retry.ts";
import type { RetryLimits } from "./failures/retry.ts";
import { settleReply, unusableReply } from "./settle-reply.ts";
import { mapToolNames } from "./prompt/tool-names.ts";
import { habitsOf } from "./vendors/vendor-habits.ts";
import { vendorsOf } from "./vendors/vendors.ts";
import type { Vendors } from "./vendors/vendors.ts";
import { UnusableReply } from "./wire/error-in-answer.ts";
import { ReplyMeter } from "./wire/received.ts";

export interface AiSdkOptions {
  /** The name in the setting. */
  readonly name: string;
  readonly kind: ModelKind;
  readonly model: string;
  readonly access: Access;
  readonly settings?: ModelSettings;
  /** `plain`: the server has no function calling, or it is unreliable. */
  readonly protocol?: "native" | "plain";
  readonly times?: ReplyTimes;
  readonly proxy?: EnvironmentProxy;
  readonly retry?: RetryLimits;
  readonly breaker?: CircuitBreaker;
  readonly clock?: () => number;
  readonly random?: () => number;
}

interface ReplyAttempt {
  readonly request: ModelRequest;
  readonly options: CompleteOptions;
  readonly received: ReplyMeter;
  readonly habits: Habits;
  readonly plan: ReplyPlan;
  /** Requested maximum reply length. Undefined: the server's default. */
  readonly max_tokens: number | undefined;
}

/** Observations about a server. */
interface Habits {
  /**
   * Answers in a row that ended in good form without a finish reason: from the second one on that is how it ends them.
   */
  unfinished: number;
}

/** Maximum length of a server's message in our errors. */
const MAX_MESSAGE = 500;

/**
 * A model behind one of the provider packages. Each attempt passes the provider's circuit breaker; transient failures
 * are retried; thrown errors never contain the key.
 */
export function createAiSdkProvider(given: AiSdkOptions): ModelProvider {
  const {
    name,
    kind,
    access,
    model,
    protocol = "native",
    clock = Date.now,
    random = Math.random,
    retry = RETRY,
  } = given;
  const breaker = given.breaker ?? breakerFor(`${new URL(access.base_url).host} ${model}`);
  const known = access.key === undefined ? [] : [access.key];
  const clean = (text: string): string => shorten(redact(text, { known }).text);
  const habits: Habits = { unfinished: 0 };
  // A self-hosted server may offer less than the model's context window.
  const context_tokens = kind === "compatible" ? undefined : contextTokens(model);
  const { settings = {} } = given;
  const plan = planReply({ kind, model, settings, vendors: vendorsOf({ kind, model, base_url: access.base_url }) });
  const window = settings.context_tokens ?? context_tokens;
  return {
    name,
    protocol,
    ...(context_tokens === undefined ? {} : { context_tokens }),
    ...(settings.max_output_tokens === undefined ? {} : { max_output_tokens: settings.max_output_tokens }),
    ...(protocol === "native" && "takesImages" in KINDS[kind] ? { takes_images: true } : {}),
    complete: async (request, options) => {
      let received = new ReplyMeter();
      const attempt = async (): Promise<ModelReply> =>
        await askFitting(fittingReply(given, { plan, window, request }), async (max_tokens) => {
          received = new ReplyMeter();
          return await passBreaker(breaker, given, { request, options, received, habits, plan, max_tokens });
        });
      return await withRetries(attempt, {
        limits: withPatience(retry, options),
        clock,
        random,
        signal: options.signal,
        read: (error) => {
          const failure = readFailure(error, clock());
          return { ...failure, message: clean(failure.message) };
        },
        giveUp: (failure, { attempts, stop }) =>
          modelFailed(failureText(failure, { stop, access }), {
            attempts,
            ...aboutFailure(failure, clock()),
          }),
        onFailed: async () => {
          if (received.spent !== undefined) await options.onSpent?.(received.spent);
        },
        ...(options.onRetry === undefined ? {} : { onRetry: options.onRetry }),
      });
    },
  };
}

interface PlannedReply {
  readonly plan: ReplyPlan;
  readonly window: number | undefined;
  readonly request: ModelRequest;
}

function fittingReply(
  { access, model, clock = Date.now }: AiSdkOptions,
  { plan: { max_tokens }, window, request }: PlannedReply,
): Parameters<typeof askFitting>[0] {
  const of = { base_url: access.base_url, model };
  const input = (): number => inputTokens(request);
  const first = max_tokens === undefined ? undefined : replyTokens(of, { max_tokens, window, input });
  return { of, first, read: (error) => readFailure(error, clock()) };
}

function shorten(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE).toWellFormed()}…` : text;
}

function withPatience(limits: RetryLimits, { patience_ms = limits.total_ms }: CompleteOptions): RetryLimits {
  return { ...limits, total_ms: Math.min(limits.total_ms, patience_ms) };
}

function aboutFailure(
  { reason, status, wait_ms, limit_tokens, sent_tokens, reply_tokens }: Failure,
  nowMs: number,
): Omit<Parameters<typeof modelFailed>[1], "attempts"> {
  return {
    reason,
    ...(status === undefined ? {} : { status }),
    ...(wait_ms === undefined ? {} : { retry_at: nowMs + wait_ms }),
    ...(limit_tokens === undefined ? {} : { limit_tokens }),
    ...(sent_tokens === undefined ? {} : { sent_tokens }),
    ...(reply_tokens === undefined ? {} : { reply_tokens }),
  };
}

async function passBreaker(breaker: CircuitBreaker, given: AiSdkOptions, asked: ReplyAttempt): Promise<ModelReply> {
  const clock = given.clock ?? Date.now;
  const passage = breaker.enter();
  if ("retry_at" in passage) throw breakerOpen(passage.retry_at, clock());
  try {
    const reply = await askOnce(given, asked);
    passage.settle("ok");
    return reply;
  } catch (error) {
    // A server that rejects a request is healthy.
    const isOurs = asked.options.signal.aborted;
    const { blame } = REASONS[readFailure(error, clock()).reason];
    passage.settle(isOurs ? "abandoned" : blame ? "failed" : "ok");
    throw error;
  }
}

function breakerOpen(retry_at: number, nowMs: number): AttemptFailed {
  const wait_ms = Math.max(0, retry_at - nowMs);
  const when = new Date(retry_at).toISOString();
  const message = `it failed repeatedly; the next attempt is allowed at ${when} (in ${Math.ceil(wait_ms / 1000)} s)`;
  return new AttemptFailed({ reason: "breaker_open", message, wait_ms });
}

async function askOnce(given: AiSdkOptions, asked: ReplyAttempt): Promise<ModelReply> {
  const { kind, model, access, times = timesOf(given), clock = Date.now } = given;
  const through = given.proxy === undefined ? {} : { proxy: given.proxy };
  const { options, received, habits } = asked;
  const row: KindRow = KINDS[kind];
  const takesUnfinished = habits.unfinished > 0;
  const guarded = createGuardedFetch(options.signal, {
    times,
    wire: row.wire,
    received,
    takesUnfinished,
    clock,
    ...through,
  });
  try {
    const vendors = vendorsOf({ kind, model, base_url: access.base_url });
    const language = await row.create({ ...access, model, vendors, fetch: guarded.fetch });
    const ask = given.protocol === "plain" ? askInWords : askNatively;
    const reply = await ask({ given, row, vendors, language, signal: guarded.signal }, asked);
    if (received.finish !== undefined) habits.unfinished = 0;
    return settleReply(reply, received);
  } catch (error) {
    // The library throws various errors for an aborted request; only the abort reason matters.
    if (guarded.signal.aborted) throw guarded.signal.reason;
    const found = received.failure ?? error;
    if (found instanceof UnusableReply) return unusableReply(found, given.protocol ?? "native");
    if (found instanceof AttemptFailed && found.failure.unfinished === true) habits.unfinished += 1;
    throw found;
  } finally {
    guarded.close();
  }
}

function timesOf({ settings = {} }: AiSdkOptions): ReplyTimes {
  const { model_first_byte_seconds: first, model_idle_seconds: idle } = settings;
  return {
    ...REPLY_TIMES,
    ...(first === undefined ? {} : { first_byte_ms: first * 1000 }),
    ...(idle === undefined ? {} : { idle_ms: idle * 1000 }),
  };
}

interface Line {
  readonly given: AiSdkOptions;
  readonly row: KindRow;
  readonly vendors: Vendors;
  readonly language: LanguageModelV4;
  readonly signal: AbortSignal;
}

async function askNatively(line: Line, asked: ReplyAttempt): Promise<ModelReply> {
  const { given, row, vendors, language } = line;
  const { request, options } = asked;
  const { name: maker, kind, model } = given;
  const cacheMark = kind === "compatible" ? chatCacheMark(vendors, model) : row.cacheMark;
  const { prompt, tools, names } = makePrompt(request, {
    ...row,
    maker,
    habits: habitsOf({ name: maker, kind, vendors }),
    ...(cacheMark === undefined ? {} : { cacheMark }),
  });
  const offered = tools.length === 0 ? {} : { tools };
  const sent = kind === "compatible" ? markParts(prompt) : prompt;
  const { stream } = await language.doStream({ prompt: sent, ...offered, ...commonOptions(line, asked, sent) });
  return { ...(await readReply(stream, { maker, names, ...liveOptions(options) })), maker };
}

async function askInWords(line: Line, asked: ReplyAttempt): Promise<ModelReply> {
  const { given, language } = line;
  const prompt = makePlainPrompt(asked.request);
  const { stream } = await language.doStream({ prompt, ...commonOptions(line, asked, prompt) });
  const names = mapToolNames([]);
  const { text, finish } = await readReply(stream, { maker: given.name, names, ...liveOptions(asked.options) });
  return { kind: "plain", text, finish };
}

function commonOptions(
  { given, row, signal: abortSignal }: Line,
  { plan, max_tokens }: ReplyAttempt,
  prompt: LanguageModelV4Prompt,
): Omit<LanguageModelV4CallOptions, "prompt"> {
  const { kind, model, access } = given;
  const isNewName = wantsNewName({ base_url: access.base_url, model });
  const always = row.providerOptions;
  const mayThink = claudeRow(model) === undefined || beginsWithThought(prompt);
  return { abortSignal, ...callOptions(plan, { kind, model, max_tokens, isNewName, always, mayThink }) };
}

function liveOptions({ onDelta }: CompleteOptions): Pick<CompleteOptions, "onDelta"> {
  return onDelta === undefined ? {} : { onDelta };
}
