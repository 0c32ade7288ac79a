import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, get } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import type { RuntimeEvent } from "@autonous/runtime";
import type { AuditRecord } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { autonous, start } from "./support/cli.ts";
import type { Ended } from "./support/cli.ts";
import { scratchPlace, startService, until, workerOf, writeScript } from "./support/service.ts";
import type { Place, Served } from "./support/service.ts";

/** Operating a running service, and what it reports about itself. */

async function tasks(place: Place, ...words: readonly string[]): Promise<Ended> {
  return await autonous(["tasks", ...words, "--state-dir", place.state_dir], { cwd: place.path });
}

async function stateOf(service: Served, task_id: string): Promise<string> {
  const { task } = (await (await service.request(`/api/tasks/${task_id}`)).json()) as { task: { state: string } };
  return task.state;
}

async function json<T>(response: Promise<Response>): Promise<T> {
  return (await (await response).json()) as T;
}

const post = { method: "POST" } as const;

test("a running task is cancelled by another process, and the tasks behind it continue", async () => {
  const place = scratchPlace();
  const model = writeScript(place, [{ fault: "hang" }, { reply: { final_answer: "done" } }]);
  const service = await startService(place, { environment: { AUTONOUS_MODEL: model } });
  const { task_id } = await service.post({ text: "wait", chat: "one" });
  const behind = await service.post({ text: "later", chat: "one" });
  await until(async () => (await stateOf(service, task_id)) === "model_round", "the model to be asked");

  const stopping = await tasks(place, "cancel", task_id);
  expect(stopping).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("is being stopped; this takes about a second") as string,
  });
  await until(async () => (await stateOf(service, task_id)) === "cancelled", "the task to be stopped");
  const { stdout } = await tasks(place, "show", task_id);
  expect(stdout).toMatch(/^state +cancelled$/m);
  expect(stdout).toMatch(/^error +.*stopped by /m);
  expect(stdout).toContain(`autonous tasks retry ${task_id}`);

  await until(async () => (await stateOf(service, behind.task_id)) === "model_round", "the next task to begin");
  const again = await service.request(`/api/tasks/${behind.task_id}/cancel`, { ...post, body: '{"by":"ann"}' });
  expect(again.status).toBe(202);
  await until(async () => (await stateOf(service, behind.task_id)) === "cancelled", "the next task to be stopped");
  const { events } = await service.follow(behind.task_id);
  expect(events.find(({ type }) => type === "task.cancelled")?.payload).toMatchObject({ by: "ann" });
  expect((await service.stop()).code).toBe(0);
});

test("dead letters are listed, shown, retried and dropped, with the service running or stopped", async () => {
  const place = scratchPlace();
  const model = writeScript(place, [{ fault: "error", message: "the model is down" }]);
  const environment = { AUTONOUS_MODEL: model, TASK_MAX_ATTEMPTS: "1" };
  const service = await startService(place, { environment });
  const ids: string[] = [];
  for (const chat of ["a", "b", "c"]) ids.push((await service.post({ text: "work", chat })).task_id);
  const [first = "", second = "", third = ""] = ids;
  const isDead = async (): Promise<boolean> =>
    (await Promise.all(ids.map((id) => stateOf(service, id)))).every((state) => state === "dead_letter");
  await until(isDead, "the tasks to be given up");

  const listed = await tasks(place, "list", "--state", "dead_letter", "--json");
  expect((JSON.parse(listed.stdout) as { task_id: string }[]).map(({ task_id }) => task_id)).toEqual(
    [...ids].reverse(),
  );
  const ofChat = await json<{ tasks: object[] }>(service.request("/api/tasks?state=dead_letter&chat=b&limit=5"));
  expect(ofChat.tasks).toMatchObject([{ task_id: second }]);
  expect((await tasks(place, "list", "--chat", "b", "--state", "done")).stderr).toBe("No matching task\n");
  const shown = await tasks(place, "show", first);
  expect(shown.stdout).toContain("the model is down");
  expect(shown.stdout).toContain(`autonous tasks drop ${first}`);

  const dropped = await tasks(place, "drop", first, "task_none");
  expect(dropped).toMatchObject({ code: 2, stderr: expect.stringContaining('No task "task_none"') as string });
  expect(await stateOf(service, first)).toBe("cancelled");
  const refused = await tasks(place, "drop", first, "--json");
  expect(refused.code).toBe(1);
  expect(JSON.parse(refused.stdout)).toMatchObject({ answers: [{ outcome: "refused" }], missing: [] });
  expect((await service.request(`/api/tasks/${first}/cancel`, post)).status).toBe(409);
  expect((await service.request("/api/tasks/task_none/cancel", post)).status).toBe(404);
  expect((await service.request(`/api/tasks/${second}/retry`, post)).status).toBe(200);
  await until(async () => (await stateOf(service, second)) === "dead_letter", "the retry to fail too");
  expect((await service.stop()).code).toBe(0);

  const retried = await tasks(place, "retry", second, third);
  expect(retried).toMatchObject({ code: 0, stderr: expect.stringContaining("No service is running here") as string });
  const well = await startService(place, {
    environment: {
      AUTONOUS_MODEL: writeScript(
        place,
        Array.from({ length: 20 }, () => ({ reply: { final_answer: "done" } })),
      ),
    },
  });
  for (const id of [second, third])
    expect((await well.follow(id)).reply).toMatchObject({ state: "done", text: "done" });
  expect((await well.stop()).code).toBe(0);
});

test("usage errors of tasks are reported, with their exit code", async () => {
  const place = scratchPlace();
  expect(await tasks(place, "retry", "task_0")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("start one with autonous serve") as string,
  });
  expect((await tasks(place, "cancel")).stderr).toContain('Missing required argument "task"');
});

/** What a scraper makes of the text: every line has to be as the format says. */
function readMetrics(body: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  const types = new Map<string, string>();
  for (const line of body.trimEnd().split("\n")) {
    const [, about, name = "", rest = ""] = /^# (HELP|TYPE) ([a-z_]+) (.+)$/.exec(line) ?? [];
    if (about === "TYPE") types.set(name, rest);
    if (about !== undefined) continue;
    const sample = /^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)*\})? (-?[\d.e+-]+)$/.exec(line);
    expect({ line, sample: sample?.[1] }).toEqual({ line, sample: expect.any(String) as string });
    const [, metric = "", labels = "", value = ""] = sample ?? [];
    expect(types.has(metric) || types.has(metric.replace(/_(bucket|sum|count)$/, ""))).toBe(true);
    values.set(metric + labels, Number(value));
  }
  return values;
}

async function metricsOf(service: Served): Promise<ReadonlyMap<string, number>> {
  return readMetrics(await (await service.request("/metrics")).text());
}

test("metrics cover the queue, calls, decisions, the model, the outbox and the worker; health covers worker and store", async () => {
  const place = scratchPlace();
  const service = await startService(place);
  await service.ask({ text: "/ls ." });
  await service.ask({ text: "/read ../outside" });
  await service.post({ text: "/delete_file a.txt", chat: "two" });
  const isReady = async (): Promise<boolean> => {
    const values = await metricsOf(service);
    const isAsked = values.get("autonous_approvals_pending") === 1;
    const isParked = values.get('autonous_tasks{state="waiting_approval"}') === 1;
    return isAsked && isParked && values.get('autonous_tasks_ended_total{outcome="done"}') === 2;
  };
  await until(isReady, "the metrics to follow");
  const values = await metricsOf(service);
  expect(Object.fromEntries(values)).toMatchObject({
    'autonous_tasks{state="queued"}': 0,
    'autonous_tasks{state="waiting_approval"}': 1,
    'autonous_tasks_queued_total{channel="http"}': 3,
    'autonous_task_attempts_total{kind="first"}': 3,
    'autonous_tool_calls_total{tool="ls",outcome="ok"}': 1,
    'autonous_decisions_total{effect="ALLOW"}': 1,
    'autonous_decisions_total{effect="DENY"}': 1,
    'autonous_task_duration_seconds_count{outcome="done"}': 2,
    autonous_task_wait_seconds_count: 3,
    autonous_worker_up: 1,
    autonous_worker_ends_total: 0,
  });
  expect(values.get("autonous_store_bytes")).toBeGreaterThan(0);
  expect(values.get('autonous_resident_memory_bytes{process="worker"}')).toBeGreaterThan(0);

  const response = await service.request("/metrics");
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect((await fetch(`${service.url}/metrics`)).status).toBe(401);
  const { port } = new URL(service.url);
  const headers = { host: "evil.example", authorization: `Bearer ${service.token}` };
  const [rebound] = (await once(get({ port, path: "/metrics", headers, agent: false }), "response")) as [
    IncomingMessage,
  ];
  expect(rebound.resume().statusCode).toBe(403);
  expect((await service.request("/metrics", { headers: { origin: "http://evil.example" } })).status).toBe(403);
  expect(await json(fetch(`${service.url}/healthz`))).toEqual({ ok: true });

  process.kill(await workerOf(service), "SIGKILL");
  await until(async () => (await metricsOf(service)).get("autonous_worker_ends_total") === 1, "the end to be counted");
  await until(async () => (await fetch(`${service.url}/healthz`)).ok, "the next worker");
  expect((await service.stop()).code).toBe(0);
});

test("the circuit breaker of a provider that is down is told by metrics and by doctor, while the service runs", async () => {
  const place = scratchPlace();
  const environment = {
    AUTONOUS_MODEL: "compatible:m@http://127.0.0.1:9/v1",
    AUTONOUS_WORKER_CONCURRENCY: "6",
    AUTONOUS_MAX_MODEL_CALLS: "6",
  };
  const service = await startService(place, { environment });
  const asked = { cwd: place.path, env: { AUTONOUS_MODEL: environment.AUTONOUS_MODEL } };
  const before = await autonous(["doctor", "--root", place.root, "--state-dir", place.state_dir], asked);
  expect(before.stdout).toMatch(/^ok +model +.*; no circuit breaker of the service is open$/m);
  for (let i = 0; i < 6; i++) await service.post({ text: "hello", chat: `chat ${i}` });
  const breaker = 'autonous_breaker_state{provider="127.0.0.1:9 m"}';
  await until(async () => (await metricsOf(service)).get(breaker) === 2, "the circuit to open");
  const doctor = await autonous(["doctor", "--root", place.root, "--state-dir", place.state_dir], asked);
  expect(doctor.stdout).toMatch(
    /^warning +model +.*circuit to 127\.0\.0\.1:9 m open after \d+ failures in a row until/m,
  );
  await service.stop("SIGINT");
  const after = await autonous(["doctor", "--root", place.root, "--state-dir", place.state_dir], { cwd: place.path });
  expect(after.stdout).not.toContain("circuit to");
});

test("the store keeps a call's arguments, times, status and text, whether it ran, was refused or waits", async () => {
  const place = scratchPlace();
  const service = await startService(place);
  const listed = await service.ask({ text: "/ls .", chat: "two" });
  const waiting = await service.post({ text: "/delete_file a.txt", chat: "three" });
  await until(async () => (await stateOf(service, waiting.task_id)) === "waiting_approval", "the question");
  const { task_id } = await service.post({ text: "/read /etc/passwd", chat: "one" });
  await until(async () => ["done", "failed"].includes(await stateOf(service, task_id)), "the task to be over");
  await service.stop();

  const database = new DatabaseSync(place.database, { readOnly: true });
  onTestFinished(() => database.close());
  const calls = database.prepare("select * from tool_calls where task_id = ?").all(task_id);
  expect(calls).toMatchObject([{ tool_name: "read", arguments_json: '{"path":"/etc/passwd"}', status: "failed" }]);
  const { started_at, finished_at } = calls[0] ?? {};
  expect(Number(started_at)).toBeGreaterThan(0);
  expect(Number(finished_at)).toBeGreaterThanOrEqual(Number(started_at));
  const row = database.prepare(
    "select tool_name, arguments_json, status, output_text from tool_calls where task_id = ?",
  );
  expect(row.all(listed.reply?.task_id ?? "")).toMatchObject([
    { tool_name: "ls", status: "done", output_text: "a.txt\n" },
  ]);
  expect(row.all(waiting.task_id)).toMatchObject([
    { tool_name: "delete_file", arguments_json: '{"path":"a.txt"}', status: "queued", output_text: null },
  ]);
});

test("a task that a user retries after a restart counts as a retry, not as a new message", async () => {
  const place = scratchPlace();
  const model = { AUTONOUS_MODEL: writeScript(place, []), TASK_MAX_ATTEMPTS: "1" };
  const first = await startService(place, { environment: model });
  const { task_id } = await first.post({ text: "x", chat: "one" });
  await until(async () => ["failed", "dead_letter"].includes(await stateOf(first, task_id)), "the task to fail");
  await first.stop();
  const second = await startService(place, { environment: model });
  const response = await second.request(`/api/tasks/${task_id}/retry`, { method: "POST" });
  expect(response.status).toBe(200);
  const counted = async (): Promise<boolean> =>
    (await metricsOf(second)).get('autonous_task_attempts_total{kind="retry"}') === 1;
  await until(counted, "the retry to be counted");
  const values = await metricsOf(second);
  expect(values.get('autonous_task_attempts_total{kind="first"}')).toBe(0);
  expect(values.get('autonous_tasks_queued_total{channel="http"}') ?? 0).toBe(0);
});

interface AuditList {
  readonly records: readonly (AuditRecord & { readonly run_id: string; readonly task_id: string })[];
  readonly next: number | null;
}

test("the audit is searched by tool, outcome, run and time, a page at a time", async () => {
  const place = scratchPlace();
  const service = await startService(place);
  const { reply } = await service.ask({ text: "/ls ." });
  await service.ask({ text: "/ls nowhere" });
  const denied = await service.ask({ text: "/read ../outside", chat: "other" });
  const audit = (query: string): Promise<AuditList> => json(service.request(`/api/audit${query}`));
  const run_id = denied.events[0]?.run_id ?? "";
  const chat = "http:other";
  // oxfmt-ignore
  const cases = [
    { query: "",                                  tools: ["read", "ls", "ls"] },
    { query: "?tool=ls",                          tools: ["ls", "ls"] },
    { query: "?tool=bash",                        tools: [] },
    { query: "?outcome=ok",                       tools: ["ls"] },
    { query: "?outcome=failed",                   tools: ["ls"] },
    { query: "?outcome=denied",                   tools: ["read"] },
    { query: `?run=${run_id}`,                    tools: ["read"] },
    { query: "?since=2020-01-01",                 tools: ["read", "ls", "ls"] },
    { query: "?until=2020-01-01T00:00:00Z",       tools: [] },
    { query: "?since=2999-01-01T00:00:00%2B02:00", tools: [] },
    { query: "?channel=http",                     tools: ["read", "ls", "ls"] },
    { query: "?channel=telegram",                 tools: [] },
    { query: "?channel=",                         tools: [] },
    { query: `?actor=${encodeURIComponent(hostname())}`, tools: ["read", "ls", "ls"] },
    { query: "?actor=another-user",               tools: [] },
    { query: "?actor=HTTP",                       tools: [] },
    { query: `?chat=${encodeURIComponent(chat)}`, tools: ["read"] },
    { query: "?chat=http",                        tools: [] },
    { query: "?chat=http:o*",                     tools: ["read"] },
    { query: "?chat=*",                           tools: ["read", "ls", "ls"] },
    { query: "?chat=HTTP:*",                      tools: [] },
    { query: "?channel=h*&actor=another-*",        tools: [] },
    { query: `?chat=${"*".repeat(1200)}`,         tools: [] },
    { query: `?chat=${encodeURIComponent(chat)}&tool=ls`, tools: [] },
    { query: `?chat=${encodeURIComponent(chat)}&channel=http&outcome=denied`, tools: ["read"] },
    { query: "?actor=%25&chat=%25",               tools: [] },
  ];
  for (const { query, tools } of cases) {
    const { records, next } = await audit(query);
    expect({ query, tools: records.map(({ tool }) => tool), next }).toEqual({ query, tools, next: null });
  }
  const found: string[] = [];
  for (let after = ""; ;) {
    const { records, next } = await audit(`?limit=1${after}`);
    found.push(...records.map(({ tool_call_id }) => tool_call_id));
    if (next === null) break;
    after = `&after=${next}`;
  }
  expect(new Set(found).size).toBe(3);
  expect((await audit("?limit=1&outcome=ok")).records).toMatchObject([{ task_id: reply?.task_id }]);
  for (const query of [
    "?outcome=odd",
    "?since=yesterday",
    "?limit=0",
    "?limit=501",
    "?after=x",
    "?color=red",
    "?actor=a&actor=b",
    "?chat=a&ch%61t=b",
  ])
    expect({ query, status: (await service.request(`/api/audit${query}`)).status }).toEqual({ query, status: 400 });
  expect((await service.stop()).code).toBe(0);
});

/** Reads a stream of events until `count` have arrived. */
async function firstOf(response: Response, count: number): Promise<{ ids: number[]; events: RuntimeEvent[] }> {
  const ids: number[] = [];
  const events: RuntimeEvent[] = [];
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    rest += decoder.decode(bytes as Uint8Array, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      ids.push(Number(/^id: (\d+)$/m.exec(block)?.[1]));
      events.push(JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "") as RuntimeEvent);
    }
    if (events.length >= count) break;
  }
  return { ids: ids.slice(0, count), events: events.slice(0, count) };
}

test("the events of all runs come as a stream, and a reader goes on where it stopped", async () => {
  const place = scratchPlace();
  const service = await startService(place);
  const live = await service.request("/api/events");
  const one = await service.ask({ text: "/ls .", chat: "a" });
  const two = await service.ask({ text: "/ls .", chat: "b" });
  const all = [...one.events, ...two.events];
  const seen = await firstOf(live, all.length);
  expect(new Set(seen.events.map(({ event_id }) => event_id))).toEqual(new Set(all.map(({ event_id }) => event_id)));
  expect([...seen.ids].sort((a, b) => a - b)).toEqual(seen.ids);

  const from = { "last-event-id": String(seen.ids[9]) };
  const rest = await firstOf(await service.request("/api/events", { headers: from }), all.length - 10);
  expect(rest.ids).toEqual(seen.ids.slice(10));
  expect((await firstOf(await service.request("/api/events?after=0"), 3)).ids).toEqual(seen.ids.slice(0, 3));

  for (const path of ["/api/events", `/api/tasks/${one.events[0]?.task_id}/events`]) {
    const head = await service.request(path, { method: "HEAD" });
    expect([head.status, head.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  }
  const open = await service.request("/api/events");
  const ended = open.text();
  expect((await service.stop()).code).toBe(0);
  await ended; // a reader does not keep the service, and is let go
});

test("an artifact of a run can be saved, and nothing else can be", async () => {
  const place = scratchPlace();
  const service = await startService(place);
  const { events } = await service.ask({ text: "/ls ." });
  const run = join(place.state_dir, "runs", events[0]?.run_id ?? "");
  mkdirSync(join(run, "artifacts"), { recursive: true });
  const odd = "0123456789abcdef-a b'é.html";
  writeFileSync(join(run, "artifacts", odd), "<script>1</script>");
  writeFileSync(join(run, "artifacts", "empty"), "");
  mkdirSync(join(run, "artifacts", "folder"));
  symlinkSync("../events.jsonl", join(run, "artifacts", "link"));
  symlinkSync(join(place.root), join(run, "artifacts", "elsewhere"));
  const download = (name: string, of = events[0]?.run_id ?? ""): Promise<Response> =>
    service.request(`/api/runs/${of}/artifacts/${name}`);

  const saved = await download(encodeURIComponent(odd));
  expect(await saved.text()).toBe("<script>1</script>");
  expect(Object.fromEntries(saved.headers)).toMatchObject({
    "content-type": "application/octet-stream",
    "content-disposition": "attachment; filename*=UTF-8''a%20b%27%C3%A9.html",
    "x-content-type-options": "nosniff",
    "content-length": "18",
  });
  expect(await (await download("empty")).text()).toBe("");
  for (const name of ["gone", "folder", "link", "elsewhere%2Fa.txt", "..%2Fevents.jsonl", "..", "%00", "%2e%2e%2f"])
    expect({ name, status: (await download(name)).status }).toEqual({ name, status: 404 });
  symlinkSync(join(run, "artifacts"), join(place.state_dir, "runs", "other"));
  for (const of of ["none", "..", "other", "%2e%2e"])
    expect({ of, status: (await download("empty", of)).status }).toEqual({ of, status: 404 });
  expect((await fetch(`${service.url}/api/runs/${events[0]?.run_id ?? ""}/artifacts/empty`)).status).toBe(401);
  expect((await service.stop()).code).toBe(0);
});

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}

async function collector(): Promise<{ readonly url: string; spans(): readonly OtlpSpan[]; bodies(): string }> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(body);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  interface Body {
    readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[];
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies: () => bodies.join("\n"),
    spans: () =>
      bodies.flatMap((body) =>
        (JSON.parse(body) as Body).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
  };
}

test("a task that went on after kill -9 of everything is one trace at a collector, without what was said", async () => {
  const place = scratchPlace();
  const { url, spans, bodies } = await collector();
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: url };
  const first = await startService(place, { environment });
  const { task_id } = await first.post({ text: "/delete_file a.txt" });
  await until(async () => (await stateOf(first, task_id)) === "waiting_approval", "the task to wait");
  await until(() => spans().some(({ name }) => name === "chat direct"), "the first span to be sent");
  await first.stop("SIGKILL");

  const second = await startService(place, { environment });
  const { approvals } = await json<{ approvals: { request: { approval_id: string } }[] }>(
    second.request("/api/approvals"),
  );
  const id = approvals[0]?.request.approval_id ?? "";
  await second.request(`/api/approvals/${id}`, { ...post, body: '{"answer":"grant"}' });
  const { events } = await second.follow(task_id);
  expect((await second.stop()).code).toBe(0);

  const agent = spans().find(({ name }) => name === "invoke_agent autonous");
  expect(agent).toMatchObject({ traceId: events[0]?.trace_id });
  const call = spans().find(({ name }) => name === "execute_tool delete_file");
  expect(call).toMatchObject({ traceId: events[0]?.trace_id, parentSpanId: agent?.spanId });
  expect(spans().filter(({ name }) => name === "chat direct").length).toBeGreaterThanOrEqual(2);
  expect(new Set(spans().map(({ traceId }) => traceId)).size).toBe(1);
  expect(bodies()).not.toContain("a.txt");
});

test("the command line sends its traces too, and a collector that is down does not keep it", async () => {
  const place = scratchPlace();
  const { url, spans } = await collector();
  const run = (endpoint: string): Promise<Ended> =>
    autonous(["run", "/ls ."], { cwd: place.root, env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } });
  expect(await run(url)).toMatchObject({ code: 0, stdout: expect.stringContaining("a.txt") as string });
  expect(spans().map(({ name }) => name)).toEqual([
    "chat direct",
    "execute_tool ls",
    "chat direct",
    "invoke_agent autonous",
  ]);
  expect(await run("http://127.0.0.1:9")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("a.txt") as string,
  });
  expect(await run("no address")).toMatchObject({ code: 0, stdout: expect.stringContaining("a.txt") as string });
});

test("events tail follows the service and the command line at once, each event once, until Ctrl-C", async () => {
  const place = scratchPlace();
  const env = { AUTONOUS_STATE_DIR: place.state_dir };
  expect((await autonous(["call", "ls"], { cwd: place.root, env })).code).toBe(0);
  const { child, lines, ended } = start(["events", "tail", "-f", "--lines", "1", "--json"], { cwd: place.root, env });
  await lines(1);

  const service = await startService(place); // started while the command line follows
  const { events } = await service.ask({ text: "/ls ." });
  await lines(1 + events.length);
  expect((await autonous(["call", "ls"], { cwd: place.root, env })).code).toBe(0);
  const shown = (await lines(1 + events.length + 2)).map((line) => JSON.parse(line) as RuntimeEvent);
  expect(shown.slice(1, 1 + events.length)).toEqual(events);
  expect(shown.slice(-2).map(({ type }) => type)).toEqual(["tool_call.started", "tool_call.completed"]);
  const { task_id, run_id } = events[0] ?? { task_id: "", run_id: "" };
  await service.stop(); // what the files got since is not shown again
  child.kill("SIGINT");
  const { code, stdout } = await ended;
  expect(code).toBe(130);
  const ids = stdout
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as Partial<RuntimeEvent>).event_id)
    .filter((id) => id !== undefined);
  expect(new Set(ids).size).toBe(ids.length);

  const one = await autonous(["events", "tail", "--task", task_id ?? "", "--lines", "2", "--json"], {
    cwd: place.root,
    env,
  });
  expect(
    one.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object),
  ).toEqual(events.slice(-2));
  const both = await autonous(["events", "tail", "--task", task_id ?? "", "--run", run_id], { cwd: place.root, env });
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("Name one") as string });
});
