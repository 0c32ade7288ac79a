import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { RuntimeEvent } from "@autonous/runtime";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { hasCollector } from "./collector.ts";
import { openTraces } from "./traces.ts";
import type { Traces } from "./traces.ts";

afterEach(() => vi.unstubAllEnvs());

interface ReceivedExport {
  readonly path: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: OtlpBody;
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number; readonly message?: string };
}

/** A collector on loopback. */
async function collector(
  status = 200,
): Promise<{ readonly url: string; readonly received: readonly ReceivedExport[] }> {
  const received: ReceivedExport[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(body) as OtlpBody });
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

async function open(variables: Readonly<Record<string, string>>, log: string[] = []): Promise<Traces> {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const traces = await openTraces({
    environment: process.env,
    log: (line) => log.push(line),
    findEvent: () => Promise.resolve(undefined),
  });
  if (traces === undefined) throw new Error("Traces were not opened");
  return traces;
}

const TRACE = "0123456789abcdef0123456789abcdef";

function event(id: string, type: RuntimeEvent["type"], parent_id: string | null, payload: object = {}): RuntimeEvent {
  const about = { trace_id: TRACE, task_id: "task_1", run_id: "run_1", parent_id, payload: { ...payload } };
  return { event_id: id, seq: 1, ts: "2026-01-31T12:00:00.123Z", type, ...about, prev_hash: "", hash: "" };
}

const RUN = [
  event("a", "agent.started", null, { provider: "openai:gpt" }),
  event("m", "model.completed", "a", { latency_ms: 100, finish: "stop" }),
  event("b", "agent.failed", "a", { code: "LimitReached" }),
];

test("spans reach a collector as OTLP, with the headers and the name that the environment gives", async () => {
  const { url, received } = await collector();
  const traces = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_HEADERS: "x-key=one%20two",
    OTEL_SERVICE_NAME: "mine",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=other,deployment.environment.name=test,broken,x=%",
  });
  for (const each of RUN) traces.observe(each);
  await traces.close();

  expect(received).toHaveLength(1);
  const [{ path, headers, body } = { path: "", headers: {}, body: { resourceSpans: [] } }] = received;
  expect(path).toBe("/v1/traces");
  expect(headers).toMatchObject({ "content-type": "application/json", "x-key": "one two" });
  const [resource] = body.resourceSpans;
  expect(resource?.resource.attributes).toEqual(
    expect.arrayContaining([
      { key: "service.name", value: { stringValue: "mine" } },
      { key: "deployment.environment.name", value: { stringValue: "test" } },
    ]),
  );
  const [chat, agent] = resource?.scopeSpans[0]?.spans ?? [];
  expect(chat).toMatchObject({
    name: "chat gpt",
    traceId: TRACE,
    parentSpanId: agent?.spanId,
    startTimeUnixNano: "1769860800023000000",
    endTimeUnixNano: "1769860800123000000",
  });
  expect(agent).toMatchObject({ name: "invoke_agent autonous", status: { code: 2, message: "LimitReached" } });
  expect(agent?.attributes).toContainEqual({ key: "error.type", value: { stringValue: "LimitReached" } });
});

test("the endpoint for traces alone is used as it is written", async () => {
  const { url, received } = await collector();
  const traces = await open({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/custom` });
  for (const each of RUN) traces.observe(each);
  await traces.close();
  expect(received.map(({ path }) => path)).toEqual(["/custom"]);
});

test("a collector that refuses costs the spans and one line in the log", async () => {
  const { url, received } = await collector(400);
  const log: string[] = [];
  const traces = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, log);
  for (let i = 0; i < 600; i++) traces.observe(event(`m${i}`, "model.completed", null));
  await traces.close();
  expect(received.length).toBeGreaterThan(0);
  expect(log).toEqual([expect.stringMatching(/^Cannot send traces: .*Spans are dropped until sending recovers$/)]);
});

test("an unreachable collector delays nothing", async () => {
  const traces = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
  for (let i = 0; i < 100_000; i++) traces.observe(event(`m${i}`, "model.completed", null));
  await traces.close();
});

// oxfmt-ignore
const ENVIRONMENTS = [
  { environment: {},                                                                            has: false },
  { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: " " },                                          has: false },
  { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://h" },                                   has: true },
  { environment: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://h" },                            has: true },
  { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://h", OTEL_SDK_DISABLED: "TRUE" },        has: false },
  { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://h", OTEL_TRACES_EXPORTER: "none" },     has: false },
];

for (const { environment, has } of ENVIRONMENTS) {
  test(`${JSON.stringify(environment)} ${has ? "names a" : "names no"} collector`, () => {
    expect(hasCollector(environment)).toBe(has);
  });
}
