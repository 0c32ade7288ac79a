import type { RuntimeEvent } from "@autonous/runtime";
import { hasCollector } from "./collector.ts";
import { SpanMaker } from "./spans.ts";
import type { EventSpan, SpanMakerOptions } from "./spans.ts";

export interface TracesOptions extends SpanMakerOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** Called once when sending fails, and once when it recovers. */
  readonly log: (line: string) => void;
}

/** Spans on their way to a collector. */
export interface Traces {
  /** Never throws, never waits. Events of a run have to arrive in order. */
  observe(event: RuntimeEvent): void;
  /** Sends the remaining spans, with a short timeout. */
  close(): Promise<void>;
}

/** Converts spans to the collector's format and sends them. */
export interface SpanSender {
  /** Throws if the collector did not accept them. */
  send(spans: readonly EventSpan[]): Promise<void>;
  close(): Promise<void>;
}

/** The default batch interval of the OpenTelemetry specification. */
const EVERY_MS = 5000;
const BATCH_SIZE = 512;
const MAX_WAITING = 2048;
/** How long shutdown waits for the collector. */
const FLUSH_MS = 2000;

/** Undefined if no collector is configured; the OpenTelemetry packages are then not loaded. */
export async function openTraces(options: TracesOptions): Promise<Traces | undefined> {
  if (!hasCollector(options.environment)) return undefined;
  try {
    const { createOtlpSender } = await import("./otlp-sender.ts");
    return new BatchedTraces(createOtlpSender(options.environment), options);
  } catch (error) {
    options.log(`Traces are off: ${(error as Error).message}`);
    return undefined;
  }
}

/** Batches spans and sends one request at a time. A collector that is down costs nothing but spans. */
class BatchedTraces implements Traces {
  readonly #sender: SpanSender;
  readonly #maker: SpanMaker;
  readonly #log: (line: string) => void;
  readonly #timer: NodeJS.Timeout;
  #waiting: EventSpan[] = [];
  /** The queue that turns events into spans, in order. */
  #making: Promise<void> = Promise.resolve();
  #unmade = 0;
  #sending: Promise<void> | undefined;
  #problem = "";

  constructor(sender: SpanSender, { findEvent, log }: Pick<TracesOptions, "findEvent" | "log">) {
    this.#sender = sender;
    this.#maker = new SpanMaker({ findEvent });
    this.#log = log;
    this.#timer = setInterval(() => void this.#flush(), EVERY_MS).unref();
  }

  observe(event: RuntimeEvent): void {
    if (this.#unmade >= MAX_WAITING * 10) return; // events arrive faster than their starts can be looked up
    this.#unmade += 1;
    this.#making = this.#making.then(async () => await this.#make(event));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, FLUSH_MS);
    await Promise.race([late, this.#sendAll()]);
    clearTimeout(timer);
  }

  async #sendAll(): Promise<void> {
    await this.#making;
    await this.#sending;
    while (this.#waiting.length > 0 && this.#problem === "") await this.#flush();
    await this.#sender.close();
  }

  async #make(event: RuntimeEvent): Promise<void> {
    this.#unmade -= 1;
    try {
      const span = await this.#maker.take(event);
      if (span === undefined || this.#waiting.length >= MAX_WAITING) return;
      this.#waiting.push(span);
    } catch (error) {
      this.#tell(`Cannot create a span for event ${event.event_id}: ${(error as Error).message}`);
    }
    if (this.#waiting.length >= BATCH_SIZE) void this.#flush();
  }

  #flush(): Promise<void> {
    this.#sending ??= this.#send().finally(() => (this.#sending = undefined));
    return this.#sending;
  }

  async #send(): Promise<void> {
    const spans = this.#waiting.slice(0, BATCH_SIZE);
    this.#waiting = this.#waiting.slice(BATCH_SIZE);
    if (spans.length === 0) return;
    try {
      await this.#sender.send(spans);
      this.#tell("");
    } catch (error) {
      this.#tell(`Cannot send traces: ${(error as Error).message}. Spans are dropped until sending recovers`);
    }
  }

  #tell(problem: string): void {
    const isNew = (problem === "") !== (this.#problem === "");
    this.#problem = problem;
    if (isNew) this.#log(problem === "" ? "Sending traces recovered" : problem);
  }
}
