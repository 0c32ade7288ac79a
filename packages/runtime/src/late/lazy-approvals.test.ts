import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { makeRequest } from "../../../../test/support/approval-request.ts";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import type { ApprovalKeeper } from "../contract/approvals.ts";
import { openApprovals } from "./lazy-approvals.ts";
import type { Grant } from "../protocol/approval.ts";

const NOW = Date.parse("2026-01-01T00:00:00.000Z");

async function keeper(): Promise<{ state_dir: string; open: () => ApprovalKeeper; time: { now: number } }> {
  const { path: state_dir } = await scratchFolder();
  const time = { now: NOW };
  return { state_dir, time, open: () => openApprovals({ state_dir, clock: () => time.now }) };
}

function grantOf(more: Partial<Grant> = {}): Grant {
  return {
    grant_id: "grant_1",
    scope: "run",
    run_id: "run_1",
    session: "chat_1",
    pattern: { kind: "tool", tool: "count" },
    words: "any `count`",
    approval_id: "apr_1",
    by: "ada",
    via: "terminal",
    granted_at: new Date(NOW).toISOString(),
    ...more,
  };
}

test("a request is found, answered and used by other keepers on the same folder", async () => {
  const { open } = await keeper();
  const request = makeRequest({ now: NOW });
  expect(await open().open(request)).toEqual({ request, state: "pending" });
  expect(await open().list({ state: "pending" })).toMatchObject([{ request: { approval_id: "apr_1" } }]);
  expect(await open().findGranted(request.digest)).toBeUndefined();
  expect(await open().answer("apr_1", { answer: "grant", by: "ada", via: "terminal" })).toMatchObject({ won: true });
  expect(await open().findGranted(request.digest)).toMatchObject({ state: "granted", answer: { by: "ada" } });
  expect(await open().use("apr_1")).toBe(true);
  expect(await open().use("apr_1")).toBe(false);
  expect(await open().findGranted(request.digest)).toBeUndefined();
  expect(await open().get("apr_1")).toMatchObject({ state: "used" });
  expect(await open().list()).toHaveLength(1);
});

test("of two answers the first wins, and the second is told what it was", async () => {
  const { open } = await keeper();
  await open().open(makeRequest({ now: NOW }));
  await open().answer("apr_1", { answer: "deny", by: "ada", reason: "not today" });
  expect(await open().answer("apr_1", { answer: "grant", by: "bob" })).toMatchObject({
    won: false,
    approval: { state: "denied", answer: { by: "ada", reason: "not today" } },
  });
  expect(await open().answer("apr_none", { answer: "grant" })).toBeUndefined();
});

test("approval with edited arguments does not approve the original call", async () => {
  const { open } = await keeper();
  const request = makeRequest({ now: NOW });
  await open().open(request);
  await open().answer("apr_1", { answer: "grant", args: { cmd: "ls -l" } });
  expect(await open().findGranted(request.digest)).toBeUndefined();
});

test("a request that was not answered in time is expired for every process", async () => {
  const { open, time } = await keeper();
  await open().open(makeRequest({ now: NOW }));
  time.now = NOW + 3_600_000;
  expect(await open().get("apr_1")).toMatchObject({ state: "expired" });
  expect(await open().list({ state: "pending" })).toEqual([]);
  expect(await open().list({ state: "expired" })).toHaveLength(1);
  expect(await open().answer("apr_1", { answer: "grant" })).toMatchObject({
    won: false,
    approval: { state: "expired" },
  });
  expect(await open().use("apr_1")).toBe(false);
});

test("grants are found by run and by session, and are gone once revoked", async () => {
  const { open, state_dir } = await keeper();
  const all = [
    grantOf(),
    grantOf({ grant_id: "grant_2", scope: "session" }),
    grantOf({ grant_id: "grant_3", run_id: "run_2" }),
  ];
  for (const grant of [...all, ...all]) await open().addGrant(grant); // a second time changes nothing
  const ids = async (holder?: { run_id: string; session: string }): Promise<string[]> =>
    (await open().grants(holder)).map(({ grant_id }) => grant_id).sort();
  expect(await ids()).toEqual(["grant_1", "grant_2", "grant_3"]);
  expect(await ids({ run_id: "run_1", session: "other" })).toEqual(["grant_1"]);
  expect(await ids({ run_id: "run_9", session: "chat_1" })).toEqual(["grant_2"]);
  expect(await open().revoke("grant_2")).toBe(true);
  expect(await open().revoke("grant_2")).toBe(false);
  expect(await ids({ run_id: "run_9", session: "chat_1" })).toEqual([]);
  expect(statSync(join(state_dir, "grants.json")).mode & 0o777).toBe(0o600);
});

test("who waits is told as soon as another keeper answers, and stops when they no longer want to", async () => {
  const { open } = await keeper();
  await open().open(makeRequest({ now: NOW }));
  const stop = new AbortController();
  const stopped = open().wait("apr_1", stop.signal);
  const told = open().wait("apr_1", new AbortController().signal);
  stop.abort(new Error("enough"));
  await expect(stopped).rejects.toThrow("enough");
  await open().answer("apr_1", { answer: "grant", by: "ada" });
  expect(await told).toMatchObject({ state: "granted", answer: { by: "ada" } });
});

test("leftovers of a killed process do not block other processes", async () => {
  const { open, state_dir } = await keeper();
  await open().open(makeRequest({ now: NOW }));
  writeFileSync(join(state_dir, "runs/run_1/approvals.json.new"), '{"approvals":[{"reque');
  writeFileSync(join(state_dir, `open-approvals/apr_9~run_1~${"e".repeat(64)}`), ""); // the entry, and no request yet
  mkdirSync(join(state_dir, "runs/run_2"), { recursive: true });
  expect(await open().list()).toHaveLength(1);
  expect(await open().findGranted("e".repeat(64))).toBeUndefined();
  expect(await open().get("apr_9")).toBeUndefined();
  expect(await open().answer("apr_1", { answer: "grant" })).toMatchObject({ won: true });
  expect(await open().use("apr_1")).toBe(true);
});

// oxfmt-ignore
const DAMAGED = [
  { title: "text that is not JSON", content: "{",                         says: "it is not valid JSON" },
  { title: "an empty file",         content: "",                          says: "it is not valid JSON" },
  { title: "a list",                content: "[]",                        says: "it is valid JSON, but not a list of approvals and grants" },
  { title: "foreign approvals",     content: '{"approvals":[{"id":"1"}]}', says: "it is valid JSON, but not a list of approvals and grants" },
  { title: "a folder",              content: undefined,                   says: "it is a folder, not a regular file" },
] as const;

for (const { title, content, says } of DAMAGED) {
  test(`${title} in the place of the approvals of a run is named with its defect and not overwritten`, async () => {
    const { open, state_dir } = await keeper();
    await open().open(makeRequest({ now: NOW }));
    const file = join(state_dir, "runs/run_1/approvals.json");
    rmSync(file);
    if (content === undefined) mkdirSync(file);
    else writeFileSync(file, content);
    const refusal = {
      message: `Cannot read the approvals in "run_1/approvals.json": ${says}`,
      hint: `Move "${file}" away and retry; approvals and grants stored in it must be given again.`,
    };
    await expect(open().get("apr_1")).rejects.toMatchObject(refusal);
    await expect(open().open(makeRequest({ now: NOW, approval_id: "apr_2" }))).rejects.toMatchObject(refusal);
    if (content !== undefined) expect(readFileSync(file, "utf8")).toBe(content);
    rmSync(file, { recursive: true });
    expect(await open().open(makeRequest({ now: NOW, approval_id: "apr_3" }))).toMatchObject({ state: "pending" });
  });
}

test("nothing is created before the first request, and no lock is left", async () => {
  const { open, state_dir } = await keeper();
  expect(await open().list()).toEqual([]);
  expect(await open().grants()).toEqual([]);
  expect(readdirSync(state_dir)).toEqual([]);
  await open().open(makeRequest({ now: NOW }));
  expect(readdirSync(join(state_dir, "locks"))).toEqual([]);
});

type Model = Map<string, "pending" | "granted" | "denied" | "used" | "withdrawn">;
const step = fc.record({
  what: fc.constantFrom("open", "grant", "deny", "use", "withdraw", "other"),
  id: fc.constantFrom("1", "2", "3"),
  who: fc.constantFrom(0, 1, 2),
  crash: fc.boolean(),
});

test("whatever several answerers do, and whenever one of them is gone, all see what a plain table would say", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const { open } = await keeper();
      const keepers = [open(), open(), open()];
      const model: Model = new Map();
      for (const { what, id, who, crash } of steps) {
        if (crash) keepers[who] = open(); // a new process: it knows nothing but the files
        const each = keepers[who] ?? open();
        const state = model.get(id);
        const request = makeRequest({
          now: NOW,
          approval_id: `apr_${id}`,
          tool_call_id: `call_${id}`,
          digest: id.repeat(64),
        });
        if (what === "open" && state === undefined) {
          expect(await each.open(request)).toMatchObject({ state: "pending" });
          model.set(id, "pending");
        } else if (what === "grant" || what === "deny") {
          const answered = await each.answer(`apr_${id}`, { answer: what });
          expect(answered?.won).toBe(state === undefined ? undefined : state === "pending");
          if (state === "pending") model.set(id, what === "grant" ? "granted" : "denied");
        } else if (what === "use") {
          expect(await each.use(`apr_${id}`)).toBe(state === "granted");
          if (state === "granted") model.set(id, "used");
        } else if (what === "withdraw") {
          await each.end(`apr_${id}`, "withdrawn");
          if (state === "pending" || state === "granted") model.set(id, "withdrawn");
        }
        for (const key of ["1", "2", "3"]) {
          expect((await each.get(`apr_${key}`))?.state).toBe(model.get(key));
          expect((await each.findGranted(key.repeat(64))) !== undefined).toBe(model.get(key) === "granted");
        }
      }
    }),
    { numRuns: 40 },
  );
});

/** Starts several processes, lets them go at once, and gives what each printed. */
async function race(state_dir: string, count: number, work: string): Promise<string[]> {
  const module = fileURLToPath(new URL("./lazy-approvals.ts", import.meta.url));
  const program = `
    import { existsSync } from "node:fs";
    const { openApprovals } = await import(${JSON.stringify(module)});
    const keeper = openApprovals({ state_dir: ${JSON.stringify(state_dir)}, clock: () => ${NOW} });
    await keeper.list();
    console.log("ready");
    while (!existsSync(${JSON.stringify(join(state_dir, "go"))})) {}
    ${work}
  `;
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, ["--conditions=@autonous/source", "--input-type=module-typescript", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  let ready = 0;
  const outputs = children.map(
    (child) =>
      new Promise<string>((resolve) => {
        let text = "";
        child.stdout.setEncoding("utf8").on("data", (piece: string) => {
          if (text === "" && ++ready === count) writeFileSync(join(state_dir, "go"), "");
          text += piece;
        });
        child.on("close", () => resolve(text.replace("ready\n", "").trim()));
      }),
  );
  const done = await Promise.all(outputs);
  expect(existsSync(join(state_dir, "go"))).toBe(true);
  return done;
}

test("of two processes that answer at once exactly one wins, and the other is told the winner's answer", async () => {
  const { open, state_dir } = await keeper();
  await open().open(makeRequest({ now: NOW }));
  const said = await race(
    state_dir,
    3,
    `const { won, approval } = await keeper.answer("apr_1", { answer: "grant", by: String(process.pid) });
     console.log(JSON.stringify({ won, by: approval.answer.by }));`,
  );
  const answers = said.map((line) => JSON.parse(line) as { won: boolean; by: string });
  expect(answers.filter(({ won }) => won)).toHaveLength(1);
  expect(new Set(answers.map(({ by }) => by)).size).toBe(1);
});

test("of several processes that use one yes at once exactly one may", async () => {
  const { open, state_dir } = await keeper();
  await open().open(makeRequest({ now: NOW }));
  await open().answer("apr_1", { answer: "grant" });
  const said = await race(state_dir, 3, `console.log(await keeper.use("apr_1"));`);
  expect(said.sort()).toEqual(["false", "false", "true"]);
});
