import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RuntimeEvent } from "@autonous/runtime";
import { setup as build } from "../test/support/build.ts";
import { childrenOf } from "../test/support/processes.ts";
import { figuresOf, milliseconds } from "./measure.ts";
import { makeWorkspace } from "./place.ts";

const TASKS = 100;
const KILLS = 15;

interface Serving {
  readonly child: ChildProcess;
  readonly request: (path: string, body?: object) => Promise<Response>;
}

/** The same through the program that people run, spoken to by HTTP. */
export async function benchServedQueue(): Promise<void> {
  const removeBuilt = build();
  const serving = await serve();
  try {
    await benchHttpStart(serving);
    await benchRestart(serving);
  } finally {
    const gone = once(serving.child, "exit");
    serving.child.kill("SIGTERM");
    await gone;
    removeBuilt();
  }
}

async function serve(): Promise<Serving> {
  const place = makeWorkspace("queue-service");
  const root = join(place, "root");
  mkdirSync(root);
  writeFileSync(join(root, "a.txt"), "a");
  const program = process.env["BUILT_PROGRAM"] ?? "";
  const words = [program, "serve", "--root", root, "--state-dir", join(place, "state"), "--json"];
  const environment = {
    ...process.env,
    NODE_OPTIONS: "",
    AUTONOUS_HTTP_PORT: "0",
    AUTONOUS_MODEL: "direct",
    AUTONOUS_PROFILE: "autonomous",
  };
  const child = spawn(process.execPath, words, { env: environment, stdio: ["ignore", "pipe", "ignore"] }); // it says how each worker ended
  const { url, token_file } = await firstLine(child);
  const headers = { authorization: `Bearer ${readFileSync(token_file, "utf8")}`, accept: "application/json" };
  return {
    child,
    request: (path, body) =>
      fetch(url + path, body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) }),
  };
}

async function firstLine({ stdout }: ChildProcess): Promise<{ url: string; token_file: string }> {
  if (stdout === null) throw new Error("The service has no output");
  let text = "";
  const { promise, resolve } = Promise.withResolvers<void>();
  stdout.on("data", (data: Buffer) => {
    text += data.toString();
    if (text.includes("\n")) resolve();
  });
  await promise;
  return JSON.parse(text) as { url: string; token_file: string };
}

interface TaskView {
  readonly task: { readonly state: string; readonly created_at: number; readonly started_at: number | null };
}

async function post({ request }: Serving, body: object): Promise<string> {
  const response = await request("/api/tasks", body);
  if (response.status !== 202) throw new Error(`The service did not accept a task: ${await response.text()}`);
  return ((await response.json()) as { task_id: string }).task_id;
}

async function waitFor(
  serving: Serving,
  task_id: string,
  state: (state: string) => boolean,
): Promise<TaskView["task"]> {
  for (;;) {
    const { task } = (await (await serving.request(`/api/tasks/${task_id}`)).json()) as TaskView;
    if (state(task.state)) return task;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const isOver = (state: string): boolean => state === "done" || state === "failed";

/** By the times that the store has of both, in whole milliseconds: supervisor and worker are two processes. */
async function benchHttpStart(serving: Serving): Promise<void> {
  const waits: number[] = [];
  for (let i = 0; i < TASKS; i++) {
    const { created_at, started_at } = await waitFor(
      serving,
      await post(serving, { text: "/ls .", chat: `c${i}` }),
      isOver,
    );
    waits.push((started_at ?? Number.NaN) - created_at);
  }
  const { p50 } = figuresOf(waits);
  console.log(
    `put into the queue to begun, by HTTP through serve: p50 ${p50} ms (${waits.filter((wait) => wait <= 2).length} of ${TASKS} within 2 ms)`,
  );
}

/** From the kill to the event that says that the next worker resumed the task. */
async function benchRestart(serving: Serving): Promise<void> {
  const gaps: number[] = [];
  for (let i = 0; i < KILLS; i++) {
    const task_id = await post(serving, { text: "/bash sleep 0.5", chat: `k${i}` });
    await waitFor(serving, task_id, (state) => state === "tool_round");
    const killedAt = Date.now();
    for (const pid of childrenOf(serving.child.pid ?? 0)) process.kill(pid, "SIGKILL");
    await waitFor(serving, task_id, isOver);
    const resumed = (await eventsOf(serving, task_id)).find(({ type }) => type === "task.resumed");
    gaps.push(Date.parse(resumed?.ts ?? "") - killedAt);
  }
  const { p50 } = figuresOf(gaps);
  console.log(
    `killed worker (SIGKILL) to the task going on: p50 ${milliseconds(p50)}, longest ${milliseconds(Math.max(...gaps))}, ${KILLS} kills (target 500 ms)`,
  );
}

async function eventsOf({ request }: Serving, task_id: string): Promise<readonly RuntimeEvent[]> {
  const text = await (await request(`/api/tasks/${task_id}/events`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice(6)) as RuntimeEvent);
}
