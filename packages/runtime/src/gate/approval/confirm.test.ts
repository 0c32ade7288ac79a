import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { scratch, scratchFolder } from "../../../../../test/support/scratch.ts";
import { defineTool } from "../../contract/tool.ts";
import type { Tool } from "../../contract/tool.ts";
import { JsonlJournal } from "../../journal/jsonl-journal.ts";
import { openApprovals } from "../../late/lazy-approvals.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../protocol/approval.ts";
import { approvalRequest } from "../../protocol/approval.ts";
import type { AuditRecord } from "../../protocol/audit.ts";
import { createRuntime } from "../../runtime.ts";
import { createMemoryQuotas } from "../quota/memory-quotas.ts";
import type { RuntimeOptions } from "../../options/runtime-options.ts";

type Options = Partial<RuntimeOptions>;

const ASK = {
  config: {
    rules: [
      { effect: "confirm", permission: "fs.write" },
      { effect: "confirm", permission: "fs.delete" },
    ],
  },
} as const satisfies Options;

/** A runtime that asks about every change of files, and what it asked. */
async function asking(
  answer: (request: ApprovalRequest) => ReturnType<NonNullable<Options["onApproval"]>>,
  more: Options = {},
) {
  const requests: ApprovalRequest[] = [];
  const made = await scratch({
    ...ASK,
    ...more,
    onApproval: (request) => (requests.push(approvalRequest.parse(request)), answer(request)),
  });
  return { ...made, requests, root: join(made.path, "root") };
}

const yes = (): ApprovalAnswer => ({ answer: "grant", by: "ada", via: "terminal" });

/** Asked about whatever it is called with. */
function asked(more: Partial<Parameters<typeof defineTool>[0]> = {}): { tool: Tool; ran: () => number } {
  let count = 0;
  const tool = defineTool({
    name: "count",
    version: "2.1.0",
    description: "Counts",
    args: z.strictObject({ text: z.string().optional(), n: z.int().default(1) }),
    returns: z.looseObject({}),
    required_permissions: [],
    side_effects: ["none"],
    async execute(args) {
      count++;
      return { data: {}, stdout: JSON.stringify(args) };
    },
    ...more,
  });
  return { tool, ran: () => count };
}

// What is shown.

test("a request about a change of files shows the diff, and asking leaves no trace beside the request", async () => {
  const { call, make, requests, root, runtime } = await asking(() => ({ answer: "deny", reason: "no" }));
  await make({ "root/a.txt": "one\ntwo\nthree\n" });
  const result = await call("edit", { path: "a.txt", find: "two", replace: "2" });
  expect(result.error).toMatchObject({ code: "ApprovalDenied" });
  expect(requests[0]).toMatchObject({
    tool: "edit",
    touches: [{ path: "a.txt", access: "write" }],
    changes: [
      { path: "a.txt", truncated: false, diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n" },
    ],
    offers: [{ offer: "exact" }, { offer: "path" }],
  });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\ntwo\nthree\n");
  expect(readdirSync(root).sort()).toEqual(["a.txt"]);
  expect(existsSync(join(runtime.state_dir, "undo"))).toBe(false);
});

// oxfmt-ignore
const PREVIEWS = [
  { title: "a new file",            name: "write",       args: { path: "new/b.txt", content: "x\n" },                    shows: /--- \/dev\/null\n\+\+\+ b\/new\/b\.txt\n.*\+x\n/s },
  { title: "an appended line",      name: "write",       args: { path: "a.txt", content: "x\n", mode: "append" },        shows: / a\n\+x\n/ },
  { title: "a deleted file",        name: "delete_file", args: { path: "a.txt" },                                        shows: /\+\+\+ \/dev\/null\n.*-a\n/s },
  { title: "a patch",               name: "apply_patch", args: { patch_text: "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n*** End Patch" }, shows: /-a\n\+b\n/ },
  { title: "binary content", name: "write",     args: { path: "a.bin", content: "x" },                          shows: /binary or too large.*from 3 bytes to 1 bytes/ },
] as const;

for (const { title, name, args, shows } of PREVIEWS) {
  test(`${title} is shown before it is approved, and is what is done`, async () => {
    const { call, make, requests } = await asking(yes);
    await make({ "root/a.txt": "a\n", "root/a.bin": "\0\0\0" });
    const result = await call(name, args);
    expect(result.error).toBeNull();
    expect(requests[0]?.changes?.map(({ diff }) => diff).join("")).toMatch(shows);
  });
}

test("an undo shows what it would put back", async () => {
  const { runtime, call, make, requests } = await asking(yes);
  await make({ "root/a.txt": "old\n" });
  const { artifacts } = await call("write", { path: "a.txt", content: "new\n" });
  expect((await runtime.undo(artifacts.undo_id ?? "")).ok).toBe(true);
  expect(requests[1]).toMatchObject({
    tool: "undo",
    changes: [{ diff: expect.stringContaining("-new\n+old\n") as string }],
  });
});

// oxfmt-ignore
const IMPOSSIBLE = [
  { title: "text that is not there",    name: "edit",        args: { path: "a.txt", find: "nope", replace: "x" },                    code: "NoMatch" },
  { title: "a file that is not there",  name: "delete_file", args: { path: "none.txt" },                                           code: "NotFound" },
  { title: "a file that is there",      name: "write",       args: { path: "a.txt", content: "", mode: "create" },                 code: "AlreadyExists" },
] as const;

for (const { title, name, args, code } of IMPOSSIBLE) {
  test(`an impossible call asks no one: ${title}`, async () => {
    const { call, make, requests, runtime } = await asking(yes);
    await make({ "root/a.txt": "a\n" });
    expect((await call(name, args)).error?.code).toBe(code);
    expect(requests).toEqual([]);
    expect(await runtime.approvals.list()).toEqual([]);
  });
}

test("secrets are shown neither in the diff nor on record, hidden characters are, and a long diff says that it is cut", async () => {
  const secret = `ghp_${"a1B2".repeat(9)}`;
  const { call, make, requests, runtime } = await asking(() => ({ answer: "deny" }));
  await make({ "root/a.txt": "a\n" });
  await call("write", { path: "a.txt", content: `token = "${secret}"\np\u0430y \u202e x\n${"line\n".repeat(20_000)}` });
  const [request] = requests;
  expect(JSON.stringify(request)).not.toContain(secret);
  expect(request).toMatchObject({
    replay: "",
    changes: [{ truncated: true, diff: expect.stringContaining("p\\u{430}y \\u{202e} x") as string }],
  });
  expect(request?.args_json).toBeUndefined();
  expect(request?.changes?.[0]?.diff.length).toBeLessThan(20_000);
  const files = readdirSync(runtime.state_dir, { recursive: true, withFileTypes: true });
  for (const file of files.filter((each) => each.isFile())) {
    expect(readFileSync(join(file.parentPath, file.name), "utf8")).not.toContain(secret);
  }
});

test("a change inside of what is redacted is told as such", async () => {
  const { call, make, requests } = await asking(() => ({ answer: "deny" }));
  await make({ "root/.env": `API_KEY=${"abcd1234".repeat(4)}\n` });
  await call("write", { path: ".env", content: `API_KEY=${"zyxw9876".repeat(4)}\n` });
  expect(requests[0]?.changes).toEqual([{ path: ".env", diff: "[only redacted text changes]\n", truncated: false }]);
});

test("a request about commands shows each as it was parsed, with what was found in it", async () => {
  const { call, requests } = await asking(() => null, { sandbox: "off" });
  await call("bash", { cmd: "git status && sudo rm -rf build | tee log" });
  const commands = requests[0]?.commands ?? [];
  expect(commands.map(({ command }) => command).join("\n")).toMatch(
    /git status\n[^]*rm -rf build[^\n]*sudo[^]*tee log/,
  );
  expect(commands.some(({ found }) => found !== undefined)).toBe(true);
  expect(requests[0]?.offers.map(({ offer }) => offer)).toEqual(["exact"]);
});

test("a request about a skill's script tells its hash, and no other content runs", async () => {
  const folder = join(homedir(), ".agents/skills/kit");
  mkdirSync(join(folder, "scripts"), { recursive: true });
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "SKILL.md"), "---\nname: kit\ndescription: x\n---\n");
  const script = join(folder, "scripts/a.sh");
  const text = "echo fine\n";
  writeFileSync(script, text);
  let meanwhile = (): void => {};
  const { call, requests } = await asking(() => (meanwhile(), yes()), {
    config: { rules: [{ effect: "confirm", tool: "run_script" }] },
  });
  const args = { skill: "kit", relative_path: "./scripts/a.sh" };
  expect((await call("run_script", args)).payload?.stdout).toBe("fine\n");
  expect(requests[0]?.script).toEqual({
    skill: "kit",
    path: "scripts/a.sh",
    sha256: createHash("sha256").update(text).digest("hex"),
  });
  meanwhile = () => writeFileSync(script, "echo bad\n");
  expect((await call("run_script", args)).error).toMatchObject({
    code: "Stale",
    message: expect.stringContaining("the script changed") as string,
  });
  expect((await call("run_script", { ...args, relative_path: "scripts/none.sh" })).error?.code).toBe("NotFound");
  expect(requests).toHaveLength(2);
});

// Digests.

test("the same call has the same digest in another process and run; other content, arguments or policy give another", async () => {
  const { runtime, call, make, requests, root } = await asking(() => null);
  await make({ "root/a.txt": "a\n", "root/b.txt": "b\n" });
  const write = { path: "a.txt", content: "x\n" };
  await call("write", write);
  await runtime.call({ name: "write", args: write, run_id: "another" });
  writeFileSync(join(root, "a.txt"), "changed\n");
  await call("write", write);
  await call("write", { ...write, content: "y\n" });
  const stricter = await createRuntime({
    roots: [root],
    config: { rules: [{ effect: "confirm", tool: "*" }] },
    onApproval: (request) => (requests.push(request), null),
  });
  await stricter.call({ name: "write", args: write });
  await stricter.close();
  const digests = requests.map(({ digest }) => digest);
  expect(digests[0]).toBe(digests[1]);
  expect(new Set(digests).size).toBe(4);
  expect(requests[0]?.call_digest).toBe(requests[2]?.call_digest);
});

// oxfmt-ignore
const CHANGED_MEANWHILE = [
  { title: "a file's content",             change: (root: string) => writeFileSync(join(root, "a.txt"), "other\n"),                                                             says: /"a\.txt" has changed/ },
  { title: "a file into nothing",          change: (root: string) => rmSync(join(root, "a.txt")),                                                                             says: /has changed/ },
  { title: "where a path leads",           change: (root: string) => { renameSync(join(root, "a.txt"), join(root, "b.txt")); symlinkSync("b.txt", join(root, "a.txt")); },    says: /a path points elsewhere/ },
] as const;

for (const { title, change, says } of CHANGED_MEANWHILE) {
  test(`an approval does not apply after a change of ${title}, and the error says so`, async () => {
    let root = "";
    const made = await asking(() => (change(root), yes()));
    ({ root } = made);
    await made.make({ "root/a.txt": "a\n" });
    const { error } = await made.call("write", { path: "a.txt", content: "mine\n" });
    expect(error).toMatchObject({ code: "Stale", message: expect.stringMatching(says) as string });
    expect(existsSync(join(root, "a.txt")) ? readFileSync(join(root, "a.txt"), "utf8") : "").not.toBe("mine\n");
    expect(await made.runtime.approvals.list({ state: "withdrawn" })).toHaveLength(1);
  });
}

test("a path that leads out of the roots by the time of the answer is denied, not run", async () => {
  let root = "";
  const made = await asking(() => {
    rmSync(join(root, "a.txt"));
    symlinkSync(join(root, "../outside.txt"), join(root, "a.txt"));
    return yes();
  });
  ({ root } = made);
  await made.make({ "root/a.txt": "a\n", "outside.txt": "keep\n" });
  expect((await made.call("write", { path: "a.txt", content: "mine\n" })).error?.code).toBe("PathTraversalBlocked");
  expect(await made.read("outside.txt")).toBe("keep\n");
});

test("a change by another program between approval and write is not overwritten", async () => {
  const { runtime, make, root, read } = await asking(yes);
  await make({ "root/a.txt": "a\n" });
  let asks = 0;
  runtime.register(
    defineTool({
      name: "late_write",
      version: "1.0.0",
      description: "Writes, after another program did",
      args: z.strictObject({}),
      returns: z.strictObject({}),
      required_permissions: ["fs.write"],
      side_effects: ["files"],
      permission_class: "file",
      touches: () => [{ path: "a.txt", access: "write" }],
      changes_by_handle: true,
      previews: true,
      async execute(_, { files }) {
        if (asks++ > 0) writeFileSync(join(root, "a.txt"), "another program's\n");
        await files.change(["a.txt"], async () => [{ path: "a.txt", content: Buffer.from("mine\n") }]);
        return { data: {} };
      },
    }),
  );
  expect((await runtime.call({ name: "late_write", args: {} })).error).toMatchObject({ code: "Stale" });
  expect(await read("root/a.txt")).toBe("another program's\n");
});

// Where one answers.

test("an answer from elsewhere is taken while the prompt is open here, and the prompt is told", async () => {
  let told: unknown;
  const { runtime } = await scratch({
    onApproval: (request, { signal }) => {
      void openApprovals({ state_dir: runtime.state_dir }).answer(request.approval_id, {
        answer: "grant",
        by: "bob",
        via: "http",
      });
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => ((told = signal.reason), reject(signal.reason as Error))),
      );
    },
  });
  const { tool, ran } = asked();
  runtime.register(tool);
  expect((await runtime.call({ name: "count", args: {} })).ok).toBe(true);
  expect(ran()).toBe(1);
  expect(told).toMatchObject({ message: "The request was granted by bob, via http, so no other answer is needed" });
});

test("if another process answers first, its denial counts, not the approval that comes after", async () => {
  const { runtime } = await scratch({
    onApproval: async (request) => {
      await openApprovals({ state_dir: runtime.state_dir }).answer(request.approval_id, {
        answer: "deny",
        reason: "never",
      });
      return yes();
    },
  });
  const { tool, ran } = asked();
  runtime.register(tool);
  expect((await runtime.call({ name: "count", args: {} })).error).toMatchObject({
    code: "ApprovalDenied",
    message: expect.stringContaining("never") as string,
  });
  expect(ran()).toBe(0);
});

test("a cancelled call withdraws its request", async () => {
  const cancel = new AbortController();
  const { runtime } = await scratch({ onApproval: () => (cancel.abort(), new Promise(() => {})) });
  runtime.register(asked().tool);
  expect((await runtime.call({ name: "count", args: {} }, { signal: cancel.signal })).error?.code).toBe("Cancelled");
  expect(await runtime.approvals.list()).toMatchObject([{ state: "withdrawn" }]);
});

test("a request without an answer expires, for all who wait", async () => {
  const { runtime } = await scratch({ onApproval: () => new Promise(() => {}), approval_timeout_ms: 20 });
  runtime.register(asked().tool);
  const { error } = await runtime.call({ name: "count", args: {} });
  expect(error?.code).toBe("ApprovalExpired");
  expect(await runtime.approvals.list()).toMatchObject([{ state: "expired" }]);
});

test("the time in which a person thinks is not the call's", async () => {
  const time = { now: Date.now() };
  const { runtime } = await scratch({ onApproval: () => ((time.now += 60_000), yes()), clock: () => time.now });
  runtime.register(asked().tool);
  expect(await runtime.call({ name: "count", args: {} })).toMatchObject({ ok: true, duration_ms: 0 });
});

test("without a prompt, the request stays, is granted elsewhere, and permits exactly that call once", async () => {
  const { runtime, make, events, path } = await scratch(ASK);
  await make({ "root/a.txt": "a\n" });
  const request = { name: "write", args: { path: "a.txt", content: "x\n" } };
  const { error } = await runtime.call(request);
  const { approval_id } = error!.details as { approval_id: string };
  expect(error).toMatchObject({
    code: "ApprovalRequired",
    hint: expect.stringContaining(`approvals grant ${approval_id}`) as string,
  });
  expect(error?.replay).toMatch(/^autonous call write '\{"path":"a\.txt",.*\}' --approve [0-9a-f]{64}$/);
  expect((await events()).map(({ type }) => type)).toEqual(["approval_required", "tool_call.failed"]);
  const elsewhere = openApprovals({ state_dir: runtime.state_dir });
  expect(await elsewhere.answer(approval_id, { answer: "grant", by: "ada", via: "terminal" })).toMatchObject({
    won: true,
  });
  const other = await createRuntime({ roots: [join(path, "root")], ...ASK });
  expect((await other.call({ ...request, args: { ...request.args, content: "y\n" } })).error?.code).toBe(
    "ApprovalRequired",
  );
  const done = await other.call(request);
  expect(done.ok).toBe(true);
  expect(await elsewhere.get(approval_id)).toMatchObject({ state: "used" });
  writeFileSync(join(path, "root/a.txt"), "a\n"); // as it was when it was approved
  expect((await other.call(request)).error?.code).toBe("ApprovalRequired");
  await other.close();
});

test("a digest in the configuration lets exactly its call through", async () => {
  const { runtime, make, path } = await scratch(ASK);
  await make({ "root/a.txt": "a\n" });
  const request = { name: "write", args: { path: "a.txt", content: "x\n" } };
  const { digest } = (await runtime.call(request)).error!.details as { digest: string };
  const other = await createRuntime({ roots: [join(path, "root")], config: { ...ASK.config, approve: [digest] } });
  expect((await other.call({ ...request, args: { ...request.args, content: "y\n" } })).error?.code).toBe(
    "ApprovalRequired",
  );
  expect((await other.call(request)).ok).toBe(true);
  await other.close();
});

test("a parked call is still open, and the same call finds its answer", async () => {
  const { runtime, events } = await scratch({ onApproval: () => "parked" });
  const { tool, ran } = asked();
  runtime.register(tool);
  const request = { name: "count", args: {}, tool_call_id: "call_parked" };
  for (let i = 0; i < 2; i++) {
    const { error } = await runtime.call(request);
    expect(error).toMatchObject({ code: "ApprovalRequired", details: { parked: true } });
    expect(Object.keys(error?.details ?? {}).sort()).toEqual(["approval_id", "digest", "expires_at", "parked"]);
  }
  expect((await events()).map(({ type }) => type)).toEqual(["approval_required"]);
  const [waiting, ...rest] = await runtime.approvals.list({ state: "pending" });
  expect(rest).toEqual([]);
  await runtime.approvals.answer(waiting!.request.approval_id, yes());
  expect((await runtime.call(request)).ok).toBe(true);
  expect(ran()).toBe(1);
  expect((await events()).map(({ type }) => type)).toEqual([
    "approval_required",
    "approval_granted",
    "tool_call.started",
    "tool_call.completed",
  ]);
});

test("a parked call whose files changed needs a new approval; the old one does not apply", async () => {
  const { runtime, make, path } = await scratch({ ...ASK, onApproval: () => "parked" });
  await make({ "root/a.txt": "a\n" });
  const request = { name: "write", args: { path: "a.txt", content: "x\n" }, tool_call_id: "call_parked" };
  await runtime.call(request);
  const [first] = await runtime.approvals.list({ state: "pending" });
  await runtime.approvals.answer(first!.request.approval_id, yes());
  writeFileSync(join(path, "root/a.txt"), "other\n");
  expect((await runtime.call(request)).error).toMatchObject({ details: { parked: true } });
  expect((await runtime.approvals.list()).map(({ state }) => state)).toEqual(["withdrawn", "pending"]);
});

test("a parked call that was denied or is too late ends with that", async () => {
  const time = { now: Date.now() };
  const { runtime } = await scratch({ onApproval: () => "parked", clock: () => time.now });
  runtime.register(asked().tool);
  const calls = [1, 2].map((n) => ({ name: "count", args: { n }, tool_call_id: `call_${n}` }));
  for (const call of calls) await runtime.call(call);
  const [first] = await runtime.approvals.list({ state: "pending" });
  await runtime.approvals.answer(first!.request.approval_id, { answer: "deny", reason: "no" });
  time.now += 3_600_001;
  const codes = [];
  for (const call of calls) codes.push((await runtime.call(call)).error?.code);
  expect(codes).toEqual(["ApprovalDenied", "ApprovalExpired"]);
});

// Grants.

test("a yes for the run covers the same call again whatever the file holds, in this run only, and is on record", async () => {
  const { runtime, make, requests } = await asking(() => ({ ...yes(), scope: "run" }));
  await make({ "root/a.txt": "a\n" });
  const write = (content: string, run_id?: string) =>
    runtime.call({ name: "write", args: { path: "a.txt", content }, ...(run_id === undefined ? {} : { run_id }) });
  for (const content of ["x\n", "x\n", "y\n"]) expect((await write(content)).ok).toBe(true);
  expect(requests).toHaveLength(2);
  await write("x\n", "another");
  expect(requests).toHaveLength(3);
  expect((await runtime.approvals.grants())[0]).toMatchObject({
    scope: "run",
    by: "ada",
    via: "terminal",
    words: "exactly this call again",
  });
});

test("a wider offer covers what it says, and no more; revoked, it covers nothing", async () => {
  const { call, runtime, make, requests } = await asking(() => ({ ...yes(), scope: "run", offer: "path" }));
  await make({ "root/a.txt": "a\n", "root/b.txt": "b\n" });
  for (const content of ["x\n", "y\n"]) await call("write", { path: "a.txt", content });
  expect(requests).toHaveLength(1);
  await call("write", { path: "b.txt", content: "x\n" });
  expect(requests).toHaveLength(2);
  for (const { grant_id } of await runtime.approvals.grants()) await runtime.approvals.revoke(grant_id);
  await call("write", { path: "a.txt", content: "z\n" });
  expect(requests).toHaveLength(3);
});

test("a yes for the session covers other runs of it, in another process too", async () => {
  const { call, make, requests, root } = await asking(() => ({ ...yes(), scope: "session", offer: "path" }), {
    session: "chat_1",
  });
  await make({ "root/a.txt": "a\n" });
  await call("write", { path: "a.txt", content: "x\n" });
  const open = async (session: string) => await createRuntime({ roots: [root], ...ASK, session });
  const [same, other] = [await open("chat_1"), await open("chat_2")];
  expect((await same.call({ name: "write", args: { path: "a.txt", content: "y\n" } })).ok).toBe(true);
  expect((await other.call({ name: "write", args: { path: "a.txt", content: "z\n" } })).error?.code).toBe(
    "ApprovalRequired",
  );
  await same.close();
  await other.close();
  expect(requests).toHaveLength(1);
});

test("approval of one command line for the run does not cover its parts", async () => {
  const { call, requests } = await asking(() => ({ ...yes(), scope: "run" }), { sandbox: "off" });
  await call("bash", { cmd: "git status && rm -rf tmp" });
  for (const cmd of ["rm -rf tmp", "git status", "rm -rf other", "git status && rm -rf tmp; ls"])
    await call("bash", { cmd });
  expect(requests).toHaveLength(5);
  await call("bash", { cmd: "git status && rm -rf tmp" });
  expect(requests).toHaveLength(5);
});

// Edited arguments.

test("with edited arguments the call is evaluated again, runs as edited, and the model is told", async () => {
  const { call, make, requests, read, events } = await asking(() => ({
    ...yes(),
    args: { path: "b.txt", content: "theirs\n" },
  }));
  await make({ "root/a.txt": "a\n" });
  const result = await call("write", { path: "a.txt", content: "mine\n" });
  expect(result).toMatchObject({
    ok: true,
    payload: { meta: { edited_args: { path: "b.txt", content: "theirs\n" } } },
  });
  expect(await read("root/a.txt")).toBe("a\n");
  expect(await read("root/b.txt")).toBe("theirs\n");
  expect(requests).toHaveLength(1);
  const recorded = await events();
  expect(recorded.map(({ type }) => type)).toEqual([
    "approval_required",
    "approval_granted",
    "approval_required",
    "approval_granted",
    "tool_call.started",
    "tool_call.completed",
  ]);
  expect(recorded[2]?.payload["digest"]).not.toBe(recorded[0]?.payload["digest"]);
  expect((recorded[5]!.payload["audit"] as AuditRecord).policy).toMatchObject({ approved: true, approved_by: "ada" });
});

// oxfmt-ignore
const BAD_EDITS = [
  { title: "what the policy denies",     args: { path: "../outside.txt", content: "x" },    code: "PathTraversalBlocked" },
  { title: "what the tool does not take", args: { path: "a.txt", contents: 1 },              code: "InvalidArguments" },
  { title: "what no text may hold",      args: { path: "a.txt", content: "x\0" },              code: "InvalidArguments" },
] as const;

for (const { title, args, code } of BAD_EDITS) {
  test(`a person cannot edit a call into ${title}`, async () => {
    const { call, make, read, runtime } = await asking(() => ({ ...yes(), args }));
    await make({ "root/a.txt": "a\n", "outside.txt": "keep" });
    expect((await call("write", { path: "a.txt", content: "mine\n" })).error?.code).toBe(code);
    expect(await read("root/a.txt")).toBe("a\n");
    expect(await read("outside.txt")).toBe("keep");
    expect((await runtime.approvals.list()).every(({ state }) => state === "withdrawn")).toBe(true);
  });
}

test("arguments that were edited into themselves are approved like any other", async () => {
  const { call, make, read } = await asking(() => ({
    ...yes(),
    args: { path: "a.txt", content: "mine\n", mode: "overwrite" },
  }));
  await make({ "root/a.txt": "a\n" });
  expect((await call("write", { path: "a.txt", content: "mine\n" })).ok).toBe(true);
  expect(await read("root/a.txt")).toBe("mine\n");
});

// Once.

test("of two processes that make the approved call at once exactly one runs", async () => {
  const folder = await scratchFolder();
  await folder.make({ "root/a.txt": "a\n" });
  const root = join(folder.path, "root");
  const module = fileURLToPath(new URL("../../runtime.ts", import.meta.url));
  const first = await createRuntime({
    roots: [root],
    config: { rules: [{ effect: "confirm", tool: "bash" }] },
    sandbox: "off",
  });
  const cmd = `echo ran >> ran.txt`;
  const { approval_id } = (await first.call({ name: "bash", args: { cmd } })).error!.details as { approval_id: string };
  await first.approvals.answer(approval_id, yes());
  await first.close();
  const program = `
    import { existsSync, writeFileSync } from "node:fs";
    const { createRuntime } = await import(${JSON.stringify(module)});
    const runtime = await createRuntime({ roots: [${JSON.stringify(root)}], config: { rules: [{ effect: "confirm", tool: "bash" }] }, sandbox: "off" });
    await runtime.explain({ name: "bash", args: { cmd: "ls" } });
    writeFileSync(${JSON.stringify(folder.path)} + "/ready-" + process.pid, "");
    while (!existsSync(${JSON.stringify(join(folder.path, "go"))})) {}
    const { ok, error } = await runtime.call({ name: "bash", args: { cmd: ${JSON.stringify(cmd)} } });
    await runtime.close();
    console.log(ok ? "ran" : error.code);
  `;
  const children = [0, 1, 2].map(() =>
    spawn(process.execPath, ["--conditions=@autonous/source", "--input-type=module-typescript", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  const ends = children.map(
    (child) =>
      new Promise<string>((resolve) => {
        let text = "";
        child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece));
        child.on("close", () => resolve(text.trim()));
      }),
  );
  await expect
    .poll(() => readdirSync(folder.path).filter((name) => name.startsWith("ready-")).length, { timeout: 30_000 })
    .toBe(3);
  writeFileSync(join(folder.path, "go"), "");
  const said = await Promise.all(ends);
  expect(said.filter((each) => each === "ran")).toHaveLength(1);
  expect(readFileSync(join(root, "ran.txt"), "utf8")).toBe("ran\n");
});

test("a yes that was used elsewhere in the meantime lets nothing begin", async () => {
  const { runtime, events } = await scratch({
    onApproval: yes,
    onReverseThinking: async () => {
      const [granted] = await runtime.approvals.list({ state: "granted" });
      await runtime.approvals.use(granted!.request.approval_id);
      return { hidden_assumptions: [], failure_scenarios: [], verdict: "proceed", verdict_reason: "fine" };
    },
  });
  const { tool, ran } = asked({ requires_reverse_thinking: true });
  runtime.register(tool);
  expect((await runtime.call({ name: "count", args: {} })).error?.code).toBe("ApprovalExpired");
  expect(ran()).toBe(0);
  expect((await events()).some(({ type }) => type === "tool_call.started")).toBe(false);
});

test("a journal that commits uses the approval and charges the quota with the start, where the host keeps both", async () => {
  const commits: unknown[] = [];
  const { path: state_dir } = await scratchFolder();
  const keeper = openApprovals({ state_dir });
  const { runtime } = await scratch({
    onApproval: yes,
    approvals: { ...keeper, use: () => Promise.reject(new Error("the journal does it")) },
    quotas: createMemoryQuotas(),
    config: { quotas: [{ per: "run", calls: 5 }] },
    openJournal: (run_id) => {
      const journal = new JsonlJournal({ state_dir, run_id, heads: join(state_dir, "heads") });
      return Promise.resolve({
        run_id,
        commits: true,
        append: async (drafts, options) => {
          if (options?.commit !== undefined) commits.push(options.commit);
          return await journal.append(drafts, options);
        },
        read: (after) => journal.read(after),
        close: () => journal.close(),
      });
    },
  });
  runtime.register(asked().tool);
  expect((await runtime.call({ name: "count", args: {} }, { chat: "c1" })).ok).toBe(true);
  const [approval] = await keeper.list();
  const holder = { run_id: runtime.run_id, chat: "c1" };
  expect(commits).toEqual([
    { approval_id: approval?.request.approval_id, quota: { holder, counts: { calls: 1, executions: 0 } } },
  ]);
});

test("a request that cannot be put on record is not asked about, and nothing runs", async () => {
  let asks = 0;
  const { runtime } = await scratch({ onApproval: () => (asks++, yes()) });
  const { tool, ran } = asked();
  runtime.register(tool);
  writeFileSync(join(runtime.state_dir, "open-approvals"), "in the way");
  expect((await runtime.call({ name: "count", args: {} })).error?.code).toBe("RecordFailed");
  expect(asks + ran()).toBe(0);
});

// The same call again, while one waits.

test("a repeated call that waits adds no request, without a prompt, in this run and in others", async () => {
  const { runtime, make, path } = await scratch(ASK);
  await make({ "root/a.txt": "a\n" });
  const again = { name: "delete_file", args: { path: "a.txt" } };
  const first = await runtime.call(again);
  const repeated = await Promise.all(Array.from({ length: 5 }, () => runtime.call(again)));
  const other = await createRuntime({ roots: [join(path, "root")], state_dir: runtime.state_dir, ...ASK });
  onTestFinished(() => other.close());
  const elsewhere = await Promise.all(Array.from({ length: 3 }, () => other.call(again)));
  const ids = [first, ...repeated, ...elsewhere].map(({ error }) => error?.details?.["approval_id"]);
  expect(new Set(ids).size).toBe(1);
  expect(await runtime.approvals.list()).toHaveLength(1);
  await runtime.approvals.answer(String(ids[0]), yes());
  expect((await other.call(again)).ok).toBe(true);
  await make({ "root/a.txt": "a\n" });
  const retried = await runtime.call(again);
  expect(retried.error?.code).toBe("ApprovalRequired");
  expect(retried.error?.details?.["approval_id"]).not.toBe(ids[0]);
});

test("concurrent runtimes that ask for the same call for the first time leave one request", async () => {
  const { make, path, runtime } = await scratch(ASK);
  await make({ "root/a.txt": "a\n" });
  const others = await Promise.all(
    [1, 2, 3].map(() => createRuntime({ roots: [join(path, "root")], state_dir: runtime.state_dir, ...ASK })),
  );
  onTestFinished(async () => void (await Promise.all(others.map((each) => each.close()))));
  await Promise.all(others.map((each) => each.call({ name: "delete_file", args: { path: "a.txt" } })));
  expect(await runtime.approvals.list()).toHaveLength(1);
});

// oxfmt-ignore
const TWINS = [
  { title: "a yes to one is good for one, and the other is asked about then", answers: [yes(), yes()],                                       asked: 2, ran: 2, codes: [] },
  { title: "a yes and a no to each",                                          answers: [yes(), { answer: "deny" }],                          asked: 2, ran: 1, codes: ["ApprovalDenied"] },
  { title: "a no counts for both",                                            answers: [{ answer: "deny" }],                                 asked: 1, ran: 0, codes: ["ApprovalDenied", "ApprovalDenied"] },
  { title: "a yes for the run counts for both",                               answers: [{ ...yes(), scope: "run", offer: "exact" }],         asked: 1, ran: 2, codes: [] },
] as const;

for (const { title, answers, asked: most, ran: times, codes } of TWINS) {
  test(`of two calls that are the same at once: ${title}`, async () => {
    const shown = new Set<string>();
    let open = 0;
    let highest = 0;
    const { runtime } = await scratch({
      async onApproval({ approval_id }, { signal }) {
        highest = Math.max(highest, (open += shown.has(approval_id) ? 0 : 1));
        const answer = shown.has(approval_id) ? undefined : answers[shown.size];
        shown.add(approval_id);
        await new Promise((resolve) => setTimeout(resolve, 50));
        if (answer !== undefined) {
          open -= 1;
          return answer;
        }
        return await new Promise<never>((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        });
      },
    });
    const { tool, ran } = asked({ parallel: true } as object);
    runtime.register(tool);
    const results = await Promise.all([1, 2].map(() => runtime.call({ name: "count", args: {} })));
    expect(results.flatMap(({ error }) => error?.code ?? [])).toEqual(codes);
    expect([shown.size, highest, ran()]).toEqual([most, 1, times]);
    expect(await runtime.approvals.list({ state: "pending" })).toEqual([]);
  });
}

test("a cancelled call leaves the request to the other one that waits for it", async () => {
  const asking = Promise.withResolvers<ApprovalRequest>();
  const { runtime } = await scratch({
    onApproval: async (request, { signal }) => {
      asking.resolve(request);
      return await new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
    },
  });
  const { tool, ran } = asked();
  runtime.register(tool);
  const first = runtime.call({ name: "count", args: {} });
  const { approval_id } = await asking.promise;
  const stop = new AbortController();
  const second = runtime.call({ name: "count", args: {} }, { signal: stop.signal });
  stop.abort();
  expect((await second).error?.code).toBe("Cancelled");
  expect(await runtime.approvals.answer(approval_id, yes())).toMatchObject({ won: true });
  expect((await first).ok).toBe(true);
  expect(ran()).toBe(1);
});

test("calls that are the same and parked share a request, and a yes to it makes one of them", async () => {
  const { runtime } = await scratch({ onApproval: () => "parked" });
  const { tool, ran } = asked();
  runtime.register(tool);
  const calls = ["call_1", "call_2"].map((tool_call_id) => ({ name: "count", args: {}, tool_call_id }));
  const makeAll = () => Promise.all(calls.map((each) => runtime.call(each)));
  await makeAll();
  for (const times of [1, 2]) {
    const [waiting, ...more] = await runtime.approvals.list({ state: "pending" });
    expect(more).toEqual([]);
    await runtime.approvals.answer(waiting!.request.approval_id, yes());
    const results = times === 1 ? await makeAll() : [await runtime.call(calls[1]!)];
    expect([ran(), results.filter(({ ok }) => ok).length]).toEqual([times, 1]);
  }
});
