/** Asks a model's server of a test, as the agent would, without waiting between attempts. */
import { ToolError } from "@autonous/runtime";
import { createAiSdkProvider } from "../../packages/autonous/src/model/ai-sdk-provider.ts";
import type { AiSdkOptions } from "../../packages/autonous/src/model/ai-sdk-provider.ts";
import { CircuitBreaker } from "../../packages/autonous/src/model/failures/circuit-breaker.ts";
import type {
  CompleteOptions,
  ModelProvider,
  ModelReply,
  SpentUsage,
} from "../../packages/autonous/src/model/provider.ts";
import { KEY } from "./model-events.ts";
import type { Answer, ModelServer } from "./model-server.ts";

type Kind = AiSdkOptions["kind"];

const LONG = 60_000;
const REQUEST = {
  system: "Be brief.",
  messages: [{ role: "user", text: "Hi." }],
  rounds: 0,
  tools: [{ name: "read", description: "Read.", args_schema: { type: "object", properties: {} } }],
} as const;

export function connectTo(server: ModelServer, kind: Kind, options: Partial<AiSdkOptions> = {}): ModelProvider {
  return createAiSdkProvider({
    name: `${kind}:test`,
    kind,
    model: "m",
    access: { base_url: `${server.url}${kind === "google" ? "/v1beta" : "/v1"}`, key: KEY },
    retry: { max_attempts: 5, base_ms: 1, longest_ms: 2, total_ms: 10_000 },
    breaker: new CircuitBreaker("test", { threshold: 100, cooldown_ms: 1000, longest_ms: 1000, clock: Date.now }),
    times: { first_byte_ms: LONG, idle_ms: LONG, whole_ms: LONG, quiet_ms: 20 },
    ...options,
  });
}

export interface Outcome {
  readonly reply?: ModelReply;
  readonly error?: ToolError;
  readonly spent: readonly SpentUsage[];
  /** What was shown while it came. */
  readonly shown: string;
  readonly asked: number;
}

/** One round: the reply, or the error that ended it. */
export async function askOnce(
  server: ModelServer,
  provider: ModelProvider,
  options: Partial<CompleteOptions> = {},
): Promise<Outcome> {
  const spent: SpentUsage[] = [];
  let shown = "";
  const done = (how: Pick<Outcome, "reply" | "error">): Outcome => ({
    ...how,
    spent,
    shown,
    asked: server.asked.length,
  });
  try {
    const reply = await provider.complete(REQUEST, {
      signal: new AbortController().signal,
      onDelta: ({ text }) => (shown += text),
      onSpent: async (usage) => void spent.push(usage),
      ...options,
    });
    return done({ reply });
  } catch (error) {
    if (error instanceof ToolError) return done({ error });
    throw error;
  }
}

interface Raw {
  readonly status?: number;
  readonly type?: string;
  /** How the body ends after its last piece. */
  readonly end?: "cleanly" | "torn" | "never";
}

/** A body as it is, in these pieces. */
export function raw(
  pieces: string | readonly (string | Uint8Array)[],
  { status = 200, type, end = "cleanly" }: Raw = {},
): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": type ?? "text/event-stream" });
    response.socket?.setNoDelay(true);
    for (const piece of typeof pieces === "string" ? [pieces] : pieces) response.write(piece);
    if (end === "cleanly") response.end();
    if (end === "torn") response.write("", () => setImmediate(() => response.destroy()));
  };
}
