import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { verifyAudit } from "@autonous/runtime";
import { headsFolder } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import {
  FLAGS,
  isAlive,
  PROGRAM,
  scratchPlace,
  serveWords,
  startProgram,
  startService,
  until,
  workerOf,
  writeScript,
} from "./support/service.ts";

test.concurrent("serve without a root says how to set one, and creates nothing", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const program = startProgram(place, [PROGRAM, "serve"], { cwd: place.path });
  expect((await program.ended).code).toBe(2);
  expect(program.stdout()).toBe("");
  expect(program.stderr()).toMatch(/AUTONOUS_TOOL_ALLOWED_ROOTS.*--root/);
  expect(readdirSync(place.path)).toEqual(["root"]);
});

const MISTAKES = {
  AUTONOUS_HTTP_PORT: "99999",
  AUTONOUS_PROFILE: "yolo",
  AUTONOUS_MAX_TURNS: "many",
  AUTONOUS_TOOL_TIMEOUT_SECONDS: "0",
  AUTONOUS_TOOL_ALLOWED_ROOTS: "relative,/there/is/no/such/folder",
};

test.concurrent("a configuration with mistakes stops the start with all of them told", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  for (const words of [[], ["--json"]]) {
    const program = startProgram(place, [PROGRAM, "serve", ...words], { cwd: place.path, environment: MISTAKES });
    expect((await program.ended).code).toBe(2);
    const said = program.stdout() + program.stderr();
    for (const name of Object.keys(MISTAKES)) expect(said).toContain(name);
    expect(said).toContain("/there/is/no/such/folder");
    if (words.length > 0) expect(JSON.parse(program.stdout())).toMatchObject({ ok: false });
  }
  expect(readdirSync(place.path)).toEqual(["root"]);
});

test.concurrent("a port in use is reported, with what to do", async ({ onTestFinished }) => {
  const taken = createServer();
  onTestFinished(() => void taken.close());
  taken.listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const place = scratchPlace(onTestFinished);
  const program = startProgram(place, serveWords(place), { environment: { AUTONOUS_HTTP_PORT: String(port) } });
  expect((await program.ended).code).toBe(1);
  expect(program.stdout()).toBe("");
  expect(program.stderr()).toMatch(new RegExp(`127.0.0.1:${port}: in use by another program.*AUTONOUS_HTTP_PORT`));
  const other = await startService(place); // and what had been opened by then was let go
  expect((await other.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
});

test.concurrent("a service starts with its state folder among the roots, and no task gets into it", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  mkdirSync(place.state_dir);
  const service = await startService(place, { words: ["--root", place.state_dir] });
  expect((await service.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  for (const path of ["http.token", "autonous.db", "autonous.db-wal", "new.txt", "runs"]) {
    const { reply } = await service.ask({ text: `/read ${join(place.state_dir, path)}` });
    expect(reply?.text).toMatch(/SensitivePath|runtime's own state/);
    expect(reply?.text).not.toContain(service.token);
  }
});

test.concurrent("a state folder is served by one service at a time, and again after that service was killed", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const first = await startService(place);
  const second = startProgram(place, serveWords(place), { environment: { AUTONOUS_HTTP_PORT: "0" } });
  expect((await second.ended).code).toBe(2);
  expect(second.stderr()).toContain(`the process ${first.pid} already serves from it`);
  expect((await first.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  await first.stop("SIGKILL");
  const starting = Array.from({ length: 4 }, () =>
    startProgram(place, serveWords(place, "--json"), { environment: { AUTONOUS_HTTP_PORT: "0" } }),
  );
  const refused = (): number => starting.filter(({ child }) => child.exitCode === 2).length;
  const started = (): number => starting.filter(({ stdout }) => stdout().includes("url")).length;
  await until(() => refused() + started() === 4, "all of them to start or to be refused");
  expect(started()).toBe(1);
});

test.concurrent("serve --check checks, and starts nothing", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const good = startProgram(place, serveWords(place, "--check", "--json"));
  expect((await good.ended).code).toBe(0);
  expect(JSON.parse(good.stdout())).toMatchObject({ ok: true });
  expect(existsSync(place.database)).toBe(false);
  const bad = startProgram(place, serveWords(place, "--check"), {
    environment: { AUTONOUS_MODEL: "script:/not/there" },
  });
  expect((await bad.ended).code).toBe(1);
  expect(bad.stdout()).toMatch(/failed +model +.*\/not\/there/);
});

const SLOW = [{ delay_ms: 400, reply: { final_answer: "at last" } }];

test.concurrent("SIGTERM lets the running task finish; queued tasks are done at the next start", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const environment = { AUTONOUS_MODEL: writeScript(place, SLOW) };
  const service = await startService(place, { environment });
  const running = service.ask({ text: "one" });
  const queued = service.ask({ text: "two" });
  await until(
    async () => (await (await service.request("/api/tasks")).text()).includes("model_round"),
    "a running task",
  );
  const worker = await workerOf(service);
  for (const signal of ["SIGINT", "SIGINT", "SIGTERM"]) process.kill(worker, signal); // Ctrl-C reaches the whole group
  expect(await service.stop("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(isAlive(worker)).toBe(false);
  expect((await running).reply?.text).toBe("at last");
  const { reply, events } = await queued; // let go of, not cut off: the stream came to its end
  expect(reply).toBeUndefined();
  expect(events.map(({ type }) => type)).toEqual(["task.queued"]);

  const again = await startService(place, { environment });
  expect((await again.follow(events[0]?.task_id ?? "")).reply?.text).toBe("at last");
});

test.concurrent("SIGTERM while the service is only starting ends it as soon as it has", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const program = startProgram(place, serveWords(place), { environment: { AUTONOUS_HTTP_PORT: "0" } });
  await until(() => existsSync(place.state_dir), "the start");
  program.child.kill("SIGTERM");
  expect(await program.ended).toEqual({ code: 0, signal: null });
});

test.concurrent("SIGINT twice ends at once, and the running task resumes at the next start", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const service = await startService(place, {
    environment: { AUTONOUS_MODEL: writeScript(place, [{ fault: "hang" }]) },
  });
  const { task_id } = await service.post({ text: "wait for ever" });
  await until(
    async () => (await (await service.request("/api/tasks")).text()).includes("model_round"),
    "a running task",
  );
  const worker = await workerOf(service);
  service.child.kill("SIGINT");
  await until(() => service.stderr().includes("Repeat to force"), "the first to be heard");
  expect(await service.stop("SIGINT")).toEqual({ code: 130, signal: null });
  expect(isAlive(worker)).toBe(false);
  const again = await startService(place, { environment: { AUTONOUS_MODEL: writeScript(place, SLOW) } });
  expect((await again.follow(task_id)).reply?.text).toBe("at last");
});

test.concurrent("what the worker prints never lands on stdout", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const noise = `if (process.env.AUTONOUS_WORKER_NAME) console.log("noise of the worker")`;
  const service = await startService(place, {
    environment: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(noise)}` },
  });
  await service.ask({ text: "/ls ." });
  await service.stop();
  expect(service.stdout()).not.toContain("noise");
  expect(service.stdout().trim().split("\n")).toHaveLength(1);
  expect(service.stderr()).toContain("noise of the worker");
});

test.concurrent("the service goes on when its stderr is no longer read", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const service = await startService(place);
  service.child.stderr?.destroy();
  for (let i = 0; i < 2; i++) {
    const worker = await workerOf(service);
    process.kill(worker, "SIGKILL"); // about which it has something to say
    await until(() => !isAlive(worker), "the worker to be gone");
    expect((await service.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  }
});

test.concurrent("a root that disappears fails the task with a message, and the worker continues", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const service = await startService(place);
  const worker = await workerOf(service);
  expect((await service.ask({ text: "/ls ." })).reply?.state).toBe("done");
  renameSync(place.root, `${place.root}.away`);
  expect((await service.ask({ text: "/ls ." })).reply).toMatchObject({
    state: "failed",
    text: expect.stringContaining("does not exist") as string,
  });
  renameSync(`${place.root}.away`, place.root);
  expect((await service.ask({ text: "/ls ." })).reply?.state).toBe("done");
  expect(await workerOf(service)).toBe(worker);
});

test.concurrent("the token is kept for this user alone, and from start to start; one that was truncated is replaced", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const file = join(place.state_dir, "http.token");
  const first = await startService(place);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await first.stop();
  const second = await startService(place);
  expect(second.token).toBe(first.token);
  await second.stop();
  writeFileSync(file, first.token.slice(0, 5));
  const third = await startService(place);
  expect(third.token).toMatch(/^[\w-]{32}$/);
  expect(third.token).not.toBe(first.token);
});

test.concurrent("the token is in its file and nowhere else: no output, log, record, response, argument or environment", async ({
  onTestFinished,
}) => {
  const place = { ...scratchPlace(onTestFinished) };
  const state_dir = join(place.path, "the user's state");
  const words = serveWords({ ...place, state_dir });
  const service = startProgram(place, words, { environment: { AUTONOUS_HTTP_PORT: "0" } });
  await until(() => service.stdout().includes("/api/tasks"), "the line");
  const token = readFileSync(join(state_dir, "http.token"), "utf8");
  const [, line = ""] = /\n {2}(curl .*)\n/.exec(service.stdout()) ?? [];
  // What a shell makes of the line, without curl.
  const [header = "", url = ""] = execFileSync("/bin/bash", [
    "-c",
    `curl() { printf '%s\\n' "$3" "\${@: -1}"; }; ${line}`,
  ])
    .toString()
    .trim()
    .split("\n");
  expect(header).toBe(`Authorization: Bearer ${token}`);
  const said: string[] = [];
  for (const headers of [{ authorization: `Bearer ${token}` }, { authorization: "Bearer x" }, { authorization: token }])
    for (const path of ["/api/tasks", "/api/audit", "/metrics", "/healthz", "/nowhere"])
      said.push(await (await fetch(new URL(path, url), { headers })).text());
  const body = JSON.stringify({ text: "/ls ." });
  said.push(await (await fetch(url, { method: "POST", body, headers: { authorization: `Bearer ${token}` } })).text());
  for (const pid of [service.pid, await workerOf(service)])
    said.push(readFileSync(`/proc/${pid}/cmdline`, "utf8"), readFileSync(`/proc/${pid}/environ`, "utf8"));
  const doctor = startProgram(place, [PROGRAM, "doctor", "--root", place.root, "--state-dir", state_dir]);
  await doctor.ended;
  service.child.kill("SIGTERM");
  await service.ended;
  said.push(service.stdout(), service.stderr(), doctor.stdout(), doctor.stderr());
  for (const file of filesIn(state_dir)) if (!file.endsWith("/http.token")) said.push(readFileSync(file, "latin1"));
  expect(said.filter((text) => text.includes(token))).toEqual([]);
});

function* filesIn(folder: string): Iterable<string> {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) yield join(entry.parentPath, entry.name);
}

test.concurrent("a secret in a task, in the environment or in a file name is in nothing that is stored or returned", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const inEnvironment = "canary-8f3Kq0Zt7Lw2Xv5N";
  const inText = `ghp_${"Zq9X".repeat(9)}`;
  const inName = `ghp_${"Wv7K".repeat(9)}`;
  writeFileSync(join(place.root, inName), "");
  writeFileSync(join(place.root, `${inEnvironment}.txt`), "");
  mkdirSync(join(place.root, "sub"));
  const service = await startService(place, { environment: { X_TOKEN: inEnvironment } });
  const answers = [
    await service.ask({ text: "/ls ." }),
    await service.ask({ text: `/ls ${inText}` }),
    await service.ask({ text: `/ls ${inEnvironment}` }),
    await service.ask({ text: `what is ${inText} and ${inEnvironment}?` }),
    await service.ask({ text: `/ls {"path":"sub","ignore":["${inEnvironment}"]}` }),
    await (await service.request("/api/tasks")).json(),
  ];
  for (const body of [
    { text: "x", chat: inEnvironment },
    { text: "x", id: inText },
  ])
    expect((await service.request("/api/tasks", { method: "POST", body: JSON.stringify(body) })).status).toBe(400);
  await service.stop();
  const kept = [...filesIn(place.state_dir), ...filesIn(headsFolder())].map((file) => readFileSync(file, "latin1"));
  expect(kept.length).toBeGreaterThan(10);
  for (const secret of [inEnvironment, inText, inName]) {
    expect(JSON.stringify(answers)).not.toContain(secret);
    expect(kept.filter((content) => content.includes(secret))).toEqual([]);
    expect(service.stdout() + service.stderr()).not.toContain(secret);
  }
  expect(await verifyAudit(place.state_dir)).toMatchObject({ ok: true });
});

test.concurrent("createService serves inside another program, with a worker that is this package's own", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const library = pathToFileURL(join(PROGRAM, "../../index.ts")).href;
  const model = writeScript(place, [
    { reply: { tool_calls: [{ name: "ls", arguments: {} }] } },
    { reply: { final_answer: "seen" } },
  ]);
  const options = { roots: [place.root], state_dir: place.state_dir, port: 0, model };
  const script = `
    import { createService } from ${JSON.stringify(library)};
    const lines: string[] = [];
    const service = await createService({ ...${JSON.stringify(options)}, log: (line: string) => lines.push(line) });
    const refusals = [];
    for (const wrong of [{ port: 0 }, { roots: ["relative"] }, { model: "none" }, { port: -1 }])
      await createService({ ...${JSON.stringify(options)}, ...wrong }).catch((error) => refusals.push(error.message));
    const response = await fetch(service.url + "/api/tasks", {
      method: "POST", body: '{"text":"look"}', headers: { authorization: "Bearer " + service.token },
    });
    const text = await response.text();
    await service.close();
    console.log(JSON.stringify({ text, lines, refusals }));`;
  // With flags that only the host's own way of starting can have.
  const words = [...FLAGS, "--input-type=module-typescript", "--eval", script];
  const host = spawn(process.execPath, words, { cwd: place.path, stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  host.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  const [code] = (await once(host, "close")) as [number];
  expect(code).toBe(0);
  const { text, lines, refusals } = JSON.parse(out) as { text: string; lines: string[]; refusals: string[] };
  expect(text).toContain("event: tool_call.completed");
  expect(text).toContain('"text":"seen"');
  expect(lines).toEqual([]);
  expect(refusals).toEqual([
    expect.stringMatching(/the process \d+ already serves from it/),
    expect.stringContaining('"relative" is not an absolute path'),
    expect.stringContaining('Cannot use the model "none"'),
    expect.stringContaining("AUTONOUS_HTTP_PORT"),
  ]);
});
