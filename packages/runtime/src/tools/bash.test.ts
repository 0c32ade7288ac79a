import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";

test.skipIf(!hasSandbox)(
  `a command runs in the sandbox, and its output, exit code and sandbox are told${needs}`,
  async () => {
    const { call, events } = await scratch();
    const { ok, payload, artifacts } = await call("bash", { cmd: "echo out; echo err >&2; pwd" });
    expect(ok).toBe(true);
    expect(payload).toMatchObject({ exit_code: 0, stderr: "err\n", data: { exit_code: 0, sandbox: "bwrap" } });
    expect(payload?.stdout).toMatch(/^out\n.*\/root\n$/);
    expect(artifacts.commands_run).toEqual(["echo out; echo err >&2; pwd"]);
    const end = (await events()).find(({ type }) => type === "tool_call.completed");
    expect(end?.payload).toMatchObject({ audit: { operation: "execute", sandbox: "bwrap" } });
  },
);

test.skipIf(!hasSandbox)(`a command that fails has an error and its output${needs}`, async () => {
  const { call } = await scratch();
  const failed = await call("bash", { cmd: "echo before; exit 3" });
  expect(failed).toMatchObject({
    ok: false,
    error: { code: "ExitNonZero", details: { exit_code: 3 } },
    payload: { exit_code: 3, stdout: "before\n" },
  });
  const stopped = await call("bash", { cmd: "echo before; sleep 60", timeout_seconds: 0.5 });
  expect(stopped).toMatchObject({
    error: { code: "Timeout", details: { timeout: true } },
    payload: { stdout: "before\n" },
  });
  const offline = await call("bash", {
    cmd: "getent hosts example.com || { echo Could not resolve host >&2; exit 6; }",
  });
  expect(offline.error?.hint).toMatch(/network/);
  const waiting = await call("bash", {
    cmd: "until getent hosts example.com; do echo 'Temporary failure in name resolution'; sleep 0.1; done",
    timeout_seconds: 1,
  });
  expect(waiting.error).toMatchObject({ code: "Timeout", hint: expect.stringContaining('"network": true') as string });
  const mentioned = await call("bash", { cmd: "echo 'curl: (6) Could not resolve host: example.com' >&2" });
  expect(mentioned).toMatchObject({ ok: true, error: null });
});

test.skipIf(!hasSandbox)(`without network programs give up soon, and with it they are left alone${needs}`, async () => {
  const { call } = await scratch({ network: { allow: ["example.com"] }, onApproval: () => ({ answer: "grant" }) });
  const cmd = "echo $npm_config_fetch_retries $CARGO_NET_RETRY $PIP_RETRIES";
  expect((await call("bash", { cmd })).payload?.stdout).toBe("0 0 1\n");
  expect((await call("bash", { cmd, network: true })).payload?.stdout).toBe("\n");
  // It would wait 10 and 60 seconds between its attempts.
  const npm = await call("bash", { cmd: "npm install left-pad --no-audit --no-fund", timeout_seconds: 60 });
  expect(npm.error).toMatchObject({ code: "ExitNonZero", hint: expect.stringContaining('"network": true') as string });
});

test.skipIf(!hasSandbox)(`what a command may not reach it does not reach${needs}`, async () => {
  const { path, make, call } = await scratch({ state_dir: ".agent" });
  await make({ "root/.ssh/id_rsa": "KEY", "root/a.txt": "a", outside: "secret" });
  const { payload } = await call("bash", {
    cmd: `cat .ssh/id_rsa; ls .agent/runs; cat ${path}/outside > /dev/null && echo read; ls made 2>/dev/null; cat a.txt; touch made`,
  });
  expect(payload?.stdout).not.toContain("KEY");
  expect(payload?.stdout).not.toContain("run_");
  expect(payload?.stdout).toContain("a");
  expect(existsSync(join(path, "root/made"))).toBe(true);
});

// oxfmt-ignore
const DECIDED = [
  { cmd: "rm -rf /",               code: "CommandDenied" },
  { cmd: "sudo rm -rf ~",          code: "CommandDenied" },
  { cmd: "bash -c 'rm -rf /'",     code: "CommandDenied" },
  { cmd: "git push --force",       code: "ApprovalRequired" },
  { cmd: 'eval "$UNKNOWN"',        code: "ApprovalRequired" },
  { cmd: "echo ok", network: true, code: "NetworkDenied" },
  { cmd: "echo ok", network: true, is_background: true, code: "NetworkDenied" },
  { cmd: "echo ok", workdir: "..", code: "PathTraversalBlocked" },
  { cmd: "echo ok", workdir: "x",  code: "NotFound" },
];

for (const { code, ...args } of DECIDED) {
  test.skipIf(!hasSandbox)(`${JSON.stringify(args)} ends with ${code}${needs}`, async () => {
    const { call } = await scratch();
    expect((await call("bash", args)).error?.code).toBe(code);
  });
}

test("without a sandbox a command is asked for, and a required one refuses", async () => {
  const off = await scratch({ sandbox: "off" });
  expect((await off.call("bash", { cmd: "echo hi" })).error?.code).toBe("ApprovalRequired");
  const granted = await scratch({ sandbox: "off", onApproval: () => ({ answer: "grant" }) });
  expect((await granted.call("bash", { cmd: "echo hi" })).payload).toMatchObject({
    stdout: "hi\n",
    data: { sandbox: "none" },
  });
  const denied = await scratch({ sandbox: "off", profile: "autonomous", bash_denylist: "npm publish, echo" });
  expect((await denied.call("bash", { cmd: "true && echo hi" })).error?.code).toBe("CommandDenied");
});

test.skipIf(!hasSandbox)(
  `long output is cut in the middle, the whole is kept, and no secret is in either${needs}`,
  async () => {
    const { runtime, call } = await scratch();
    const cmd =
      "for i in $(seq 1 5000); do echo line $i; done; echo DEPLOY_TOKEN=correct-horse-battery; for i in $(seq 5000 9999); do echo line $i; done";
    const { payload, redacted, ok } = await call("bash", { cmd });
    expect(ok).toBe(true);
    expect(redacted).toBe(true);
    expect(payload?.truncated_lines).toBe(true);
    expect(payload?.stdout).toMatch(
      /^line 1\n[^]*\[\d+ lines, \d+ bytes left out; full output: observations\/call_[^]*line 9999\n$/,
    );
    const whole = readFileSync(join(runtime.state_dir, "runs", runtime.run_id, payload?.storage_ref ?? ""), "utf8");
    expect(whole).toContain("line 4321\n");
    expect(whole).toContain("DEPLOY_TOKEN=***REDACTED***");
    expect(whole).not.toContain("horse");
    const page = await call("read", { path: payload?.storage_ref, offset: 4321, limit: 1 });
    expect(page.payload?.stdout).toBe("line 4321\n");
  },
);

test.skipIf(!hasSandbox)(
  `a background command goes on, is read, and is stopped with all it started${needs}`,
  async () => {
    const { call } = await scratch();
    const started = await call("bash", {
      cmd: "echo first; (sleep 3000; echo never) & echo second; wait",
      is_background: true,
    });
    const { background_id } = (started.payload?.data ?? {}) as { background_id?: string };
    let output = "";
    let cursor: string | undefined;
    while (!output.includes("second")) {
      const more = await call("background_output", {
        background_id,
        wait_seconds: 5,
        ...(cursor === undefined ? {} : { cursor }),
      });
      output += more.payload?.stdout ?? "";
      cursor = more.payload?.next_page_cursor;
    }
    expect(output).toBe("first\nsecond\n");
    expect((await call("background_list")).payload?.data).toMatchObject({
      background: [{ background_id, state: "running" }],
    });
    expect((await call("background_stop", { background_id })).payload?.data).toMatchObject({ state: "stopped" });
    expect((await call("background_output", { background_id: "nothing" })).error?.code).toBe("NotFound");
  },
);

test.skipIf(!hasSandbox)(`nothing of a command is left when it ends${needs}`, async () => {
  const { call } = await scratch();
  const mark = `3${Date.now() % 100_000}`;
  await call("bash", { cmd: `setsid sleep ${mark} & nohup sleep ${mark} & (sleep ${mark} &) ; echo done` });
  const left = spawnSync("pgrep", ["-f", `sleep ${mark}`]);
  expect(left.stdout.toString()).toBe("");
});

test.skipIf(!hasSandbox)(`with the network a command reaches the allowlist and nothing else${needs}`, async () => {
  const server = createServer((_, response) => response.end("from the server")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { call } = await scratch({
    network: { allow: [`127.0.0.1:${port}`] },
    onApproval: () => ({ answer: "grant" }),
  });
  const cmd = `curl -s http://127.0.0.1:${port}/; curl -s -o /dev/null -w ' %{http_code}' http://127.0.0.1:1/`;
  const { payload } = await call("bash", { cmd, network: true });
  const without = await call("bash", { cmd: `curl -s --noproxy '*' http://127.0.0.1:${port}/`, network: true });
  server.close();

  expect(payload?.stdout).toBe("from the server 403");
  expect(payload?.meta).toMatchObject({
    connections: [{ host: "127.0.0.1", port, allowed: true }, { allowed: false }],
  });
  expect(without.error?.code).toBe("ExitNonZero");
});

// oxfmt-ignore
const IN_VAIN = [
  { title: "an empty allowlist",          options: {},                                                    args: {},                      says: /"network": \{ "allow": .*config\.json/ },
  { title: "an allowlist without entries", options: { network: { allow: [] } },                           args: {},                      says: /allowlist is empty/ },
  { title: "the background",              options: { network: { allow: ["example.com"] } },               args: { is_background: true }, says: /with a foreground command/ },
  { title: "no sandbox",                  options: { network: { allow: ["example.com"] }, sandbox: "off" }, args: {},                    says: /only a sandbox/ },
] as const;

for (const { title, options, args, says } of IN_VAIN) {
  test.skipIf(!hasSandbox)(
    `with ${title} no approval is requested for a command with network access${needs}`,
    async () => {
      let asked = 0;
      const { call } = await scratch({
        ...options,
        config: { rules: [{ effect: "allow", permission: "net.connect" }] },
        onApproval: () => ({ answer: "grant", scope: "run", offer: String((asked += 1)) }),
      });
      const { error } = await call("bash", { cmd: "true", network: true, ...args });
      expect([error?.code, asked]).toEqual(["NetworkDenied", 0]);
      expect(error?.message).toMatch(says);
    },
  );
}

test("run_terminal_cmd takes the names of other clients", async () => {
  const { call } = await scratch({ sandbox: "off", onApproval: () => ({ answer: "grant" }) });
  expect((await call("run_terminal_cmd", { command: "echo hi", explanation: "greets" })).payload?.stdout).toBe("hi\n");
});

test.skipIf(!hasSandbox)(
  `what a command does to files is listed, and undone with the rest of the run${needs}`,
  async () => {
    const { path, make, runtime, call, read } = await scratch();
    await make({ "root/a.txt": "old\n", "root/gone.txt": "gone\n", "root/run.sh": "echo\n" });
    await call("edit", { path: "a.txt", find: "old", replace: "edited" });

    const changed = await call("bash", {
      cmd: "echo more >> a.txt; rm gone.txt; mkdir -p deep && echo new > deep/b.txt; chmod 755 run.sh",
    });

    expect(changed.error).toBeNull();
    expect(changed.artifacts.files_changed.toSorted()).toEqual(["a.txt", "deep/b.txt", "gone.txt", "run.sh"]);
    expect((await call("bash", { cmd: "cat a.txt | wc -l" })).artifacts.files_changed).toEqual([]);
    const undone = await runtime.undo(changed.artifacts.undo_id ?? "");
    expect(undone.error).toBeNull();
    expect(await read("root/a.txt")).toBe("edited\n");
    expect(await read("root/gone.txt")).toBe("gone\n");
    expect(existsSync(join(path, "root/deep/b.txt"))).toBe(false);
    expect(statSync(join(path, "root/run.sh")).mode & 0o111).toBe(0);
    expect((await runtime.undo(runtime.run_id)).error).toBeNull();
    expect(await read("root/a.txt")).toBe("old\n");
  },
);

test.skipIf(!hasSandbox)(
  `a file that runs later and is planted by a command is reverted and flagged${needs}`,
  async () => {
    const { path, make, call } = await scratch();
    await make({
      "root/.git/": "",
      "root/plant.sh": "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit; echo x > ok.txt\n",
    });

    const { payload } = await call("bash", { cmd: "sh plant.sh" });

    expect(payload?.stderr).toMatch(/hooks.*set aside/);
    expect(existsSync(join(path, "root/.git/hooks/pre-commit"))).toBe(false);
    expect(existsSync(join(path, "root/ok.txt"))).toBe(true);
  },
);

test.skipIf(!hasSandbox)(`no secret that a background command prints is stored anywhere${needs}`, async () => {
  const { call, runtime } = await scratch();
  const cmd = "DEPLOY_TOKEN=correct-horse-battery; printf 'DEPLOY_'; echo \"TOKEN=$DEPLOY_TOKEN\"; echo end";
  const started = await call("bash", { cmd, is_background: true });
  const { background_id } = (started.payload?.data ?? {}) as { background_id?: string };
  let state = "running";
  while (state === "running") {
    const { payload } = await call("background_output", { background_id, wait_seconds: 5 });
    state = ((payload?.data ?? {}) as { state: string }).state;
  }
  const { payload } = await call("background_output", { background_id });
  expect(payload?.stdout).toBe("DEPLOY_TOKEN=***REDACTED***\nend\n");
  const stored = spawnSync("grep", ["-rl", "correct-horse", runtime.state_dir]);
  expect(stored.stdout.toString()).toBe("");
});

test.skipIf(!hasSandbox)(`a repository that a person let a command make is left as it is${needs}`, async () => {
  const { path, call } = await scratch({ onApproval: () => ({ answer: "grant" }) });
  const made = await call("bash", {
    cmd: "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
  });
  expect(made.error).toBeNull();
  expect(existsSync(join(path, "root/.git/config"))).toBe(true);
  expect((await call("bash", { cmd: "git log --oneline" })).payload?.stdout).toMatch(/x\n$/);
});

test.skipIf(!hasSandbox)(`what is said about changes does not cost the whole of a long output${needs}`, async () => {
  const { call, runtime, path } = await scratch();
  execFileSync("mkfifo", [join(path, "root/pipe")]);
  const { payload } = await call("bash", { cmd: "seq 1 100000 >&2; rm pipe" });

  expect(payload?.stderr).toMatch(/^1\n[^]*left out; full output: [^]*100000\n\[pipe: undo cannot restore this/);
  const whole = readFileSync(join(runtime.state_dir, "runs", runtime.run_id, payload?.storage_ref ?? ""), "utf8");
  expect(whole).toContain("\n50000\n");
});

test.skipIf(!hasSandbox)(
  `a command that is known to change nothing costs no look at the workspace${needs}`,
  async () => {
    const { call, runtime, make } = await scratch();
    await make({ "root/a.txt": "a\n" });

    expect((await call("bash", { cmd: "cat a.txt | wc -l" })).payload?.stdout).toBe("1\n");
    expect(existsSync(join(runtime.state_dir, "undo"))).toBe(false);
  },
);

test.skipIf(!hasSandbox)(`the limits of a command are those that the host set${needs}`, async () => {
  const { call } = await scratch({
    command_limits: { open_files: 77, file_bytes: 2_097_152, memory_bytes: 200_000_000 },
  });

  expect((await call("bash", { cmd: "ulimit -n; ulimit -f; ulimit -d" })).payload?.stdout).toBe("77\n2048\n195312\n");
  const full = await call("bash", {
    cmd: "head -c 190000000 /dev/zero | split -b 2000000 - /tmp/x; x=$(head -c 40000000 /dev/zero | tr '\\0' x); sleep 20",
  });
  expect(full).toMatchObject({ error: { code: "LimitReached", details: { limit: "memory", allowed: 200_000_000 } } });
  expect(full.error?.hint).toMatch(/command_limits/);
});

test("limits that no command can live with are refused at once", async () => {
  await expect(scratch({ command_limits: { processes: 0 } })).rejects.toThrow(
    /"command_limits\.processes" has to be a whole number of at least 8, not 0/,
  );
});

test.skipIf(!hasSandbox)(
  `what a person edits while a command runs stays theirs; what appears is set aside and can be restored${needs}`,
  async () => {
    const shown: unknown[] = [];
    const { call, runtime, path, make, read } = await scratch({
      onApproval: () => ({ answer: "grant" as const }),
      onEvent: ({ type, payload }) => void (type === "display" && shown.push(payload)),
    });
    await make({ "root/.vscode/settings.json": "{}", "root/.envrc": "old", "root/a.txt": "a" });

    const running = call("bash", { cmd: "echo own > own.txt; until [ -e done.txt ]; do sleep 0.05; done" });
    await vi.waitFor(() => readFileSync(join(path, "root/own.txt")), { timeout: 30_000 });
    writeFileSync(join(path, "root/.vscode/settings.json"), '{"mine":1}');
    writeFileSync(join(path, "root/new.envrc"), "mine");
    renameSync(join(path, "root/new.envrc"), join(path, "root/.envrc"));
    writeFileSync(join(path, "root/lefthook.yml"), "new");
    writeFileSync(join(path, "root/done.txt"), "");
    const { artifacts, payload } = await running;

    expect(await read("root/.vscode/settings.json")).toBe('{"mine":1}');
    expect(await read("root/.envrc")).toBe("mine");
    expect(artifacts.files_changed).not.toContain(".envrc");
    expect(artifacts.files_changed).not.toContain(".vscode/settings.json");
    expect(existsSync(join(path, "root/lefthook.yml"))).toBe(false);
    expect(payload?.stderr).toMatch(/lefthook\.yml: set aside/);
    expect(shown).toHaveLength(1);
    const [, undo_id = ""] = /Restore: autonous undo (undo_\w+)/.exec(JSON.stringify(shown)) ?? [];
    expect((await runtime.undo(undo_id)).error).toBeNull();
    expect(await read("root/lefthook.yml")).toBe("new");
  },
);
