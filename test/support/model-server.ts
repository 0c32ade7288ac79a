/** A model's server on loopback that answers as a test says, request by request, and keeps what it was asked. */
import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

/** Answers one request. The last of a list answers all that follow. */
export type Answer = (response: ServerResponse, asked: ReceivedRequest) => void;

export interface ModelServer {
  readonly url: string;
  readonly asked: readonly ReceivedRequest[];
  /** Settles when this many requests have come. */
  heard(count: number): Promise<void>;
}

export async function startModelServer(answers: readonly Answer[]): Promise<ModelServer> {
  const asked: ReceivedRequest[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
      const one = { path: request.url ?? "", headers: request.headers, body };
      asked.push(one);
      for (const look of waiting) look();
      (answers[asked.length - 1] ?? answers.at(-1))?.(response, one);
    });
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const heard = async (count: number): Promise<void> =>
    await new Promise((done) => {
      const look = (): void => {
        if (asked.length < count) return;
        waiting.delete(look);
        done();
      };
      waiting.add(look);
      look();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, heard };
}

/** Events of a stream. An event with a `type` is named by it, as Anthropic and OpenAI do. */
export function stream(events: readonly unknown[], { end = true }: { readonly end?: boolean } = {}): Answer {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) {
      const type = (event as { type?: unknown }).type;
      const named = typeof type === "string" ? `event: ${type}\n` : "";
      response.write(`${named}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
    }
    if (end) response.end();
  };
}

/** A refusal, or a breakdown. */
export function refuse(status: number, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

/** The connection breaks, after these events. */
export function cut(events: readonly unknown[] = []): Answer {
  return (response, asked) => {
    if (events.length === 0) return void response.destroy();
    stream(events, { end: false })(response, asked);
    // Once what was written has left: else the client might see none of it.
    response.write("", () => setImmediate(() => response.destroy()));
  };
}

/** Says nothing, ever. */
export const silence: Answer = () => undefined;
