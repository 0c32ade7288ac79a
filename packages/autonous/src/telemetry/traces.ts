import type { RuntimeEvent } from "@autonous/runtime";
import { hasCollector } from "./collector.ts";
import { SpanMaker } from "./spans.ts";
import type { EventSpan, SpanMakerOptions } from "./spans.ts";

export interface TracesOptions extends SpanMakerOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** Told once that spans cannot be sent, and once that they can again. */
  readonly log: (line: string) => void;
}

/** Spans on their way to a collector. */
export interface Traces {
  /** Never throws, never waits. Events of a run have to come in their order. */
  observe(event: RuntimeEvent): void;
  /** Sends what is still here, for a moment. */
  close(): Promise<void>;
}

/** Puts spans into a collector's format and sends them. */
export interface SpanSender {
  /** Throws when they were not taken. */
  send(spans: readonly EventSpan[]): Promise<void>;
  close(): Promise<void>;
}

/** As the specification of OpenTelemetry has it for batches of spans. */
const EVERY_MS = 5000;
const A_BATCH = 512;
const MOST_WAITING = 2048;
/** How long an end waits for a collector. */
const LAST_MS = 2000;

/** Undefined where no collector is configured: nothing of it is loaded then. */
export async function openTraces(options: TracesOptions): Promise<Traces | undefined> {
  if (!hasCollector(options.environment)) return undefined;
  try {
    const { createOtlpSender } = await import("./otlp-sender.ts");
    return new BatchedTraces(createOtlpSender(options.environment), options);
  } catch (error) {
    options.log(`Traces are not sent: ${(error as Error).message}`);
    return undefined;
  }
}

/** Gathers spans and sends them some at a time, one request after the other. A collector that is down costs spans only. */
class BatchedTraces implements Traces {
  readonly #sender: SpanSender;
  readonly #maker: SpanMaker;
  readonly #log: (line: string) => void;
  readonly #timer: NodeJS.Timeout;
  #waiting: EventSpan[] = [];
  /** What makes spans of events, one after the other. */
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
    if (this.#unmade >= MOST_WAITING * 10) return; // events come faster than their starts can be looked up
    this.#unmade += 1;
    this.#making = this.#making.then(async () => await this.#make(event));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LAST_MS);
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
      if (span === undefined || this.#waiting.length >= MOST_WAITING) return;
      this.#waiting.push(span);
    } catch (error) {
      this.#tell(`Cannot make a span of event ${event.event_id}: ${(error as Error).message}`);
    }
    if (this.#waiting.length >= A_BATCH) void this.#flush();
  }

  #flush(): Promise<void> {
    this.#sending ??= this.#send().finally(() => (this.#sending = undefined));
    return this.#sending;
  }

  async #send(): Promise<void> {
    const spans = this.#waiting.slice(0, A_BATCH);
    this.#waiting = this.#waiting.slice(A_BATCH);
    if (spans.length === 0) return;
    try {
      await this.#sender.send(spans);
      this.#tell("");
    } catch (error) {
      this.#tell(`Traces cannot be sent: ${(error as Error).message}. Spans are dropped until they can`);
    }
  }

  #tell(problem: string): void {
    const isNew = (problem === "") !== (this.#problem === "");
    this.#problem = problem;
    if (isNew) this.#log(problem === "" ? "Traces are sent again" : problem);
  }
}
