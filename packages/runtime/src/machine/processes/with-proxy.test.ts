import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { keepPrinted } from "../../../../../test/support/printed.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { ownProcess } from "../system/process-owner.ts";
import type { ProxiedConnection } from "../network/proxy.ts";
import { Processes } from "../command-processes.ts";
import type { ProcessesOptions, ProcessOptions } from "../command-processes.ts";
import { findProgram, PROGRAMS } from "./programs.ts";

const missing = [
  ...((await findProgram("bwrap", { roots: [] })) === undefined ? [`bwrap, ${PROGRAMS.bwrap.install}`] : []),
  ...(spawnSync("curl", ["--version"]).status === 0 ? [] : ["curl, apt-get install curl"]),
];
const needs = missing.length === 0 ? "" : ` (skipped: needs ${missing.join("; ")})`;
const online = test.skipIf(missing.length > 0);

// Not in /tmp, which is private inside: other places have to be closed by more than that.
process.env["TMPDIR"] = "/var/tmp";

interface ProxyCase extends Partial<ProcessOptions> {
  readonly run: string;
}

async function workspace(options: Partial<ProcessesOptions> = {}, below = ".") {
  const folder = await scratchFolder();
  const at = (name: string): string => join(folder.path, below, name);
  await folder.make({ [`${below}/root/`]: "", [`${below}/state/`]: "", [`${below}/home/`]: "" });
  const places = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
  const processes = new Processes({ mode: "auto", workspace: places, state_dir: at("state"), ...options });
  onTestFinished(() => processes.close());
  const told: ProxiedConnection[] = [];
  const start = async ({ run, ...more }: ProxyCase) =>
    await processes.run(
      { run, cwd: at("root"), network: "allowlist" },
      {
        call_id: "t",
        timeout_ms: 30_000,
        signal: new AbortController().signal,
        onConnection: (connection) => told.push(connection),
        ...more,
      },
    );
  const run = async (given: ProxyCase) => {
    const { onOutput, stdout, stderr } = keepPrinted();
    const { exit_code } = await start({ ...given, onOutput });
    return { said: stdout(), complained: stderr(), exit_code };
  };
  const sockets = (): string[] => readdirSync(at("state/sandbox")).filter((name) => name.endsWith(".sock"));
  return { ...folder, at, processes, start, run, told, sockets };
}

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });
  const { port } = server.address() as AddressInfo;
  return { server, port, place: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/` };
}

/** Processes in a network namespace, which a command names with `readlink /proc/self/ns/net`. */
function processesIn(namespace: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/ns/net`) === namespace;
    } catch {
      return false; // it ended meanwhile
    }
  });
}

const CURL = "curl -sS -w '%{http_code}'";

// oxfmt-ignore
const REACHED = [
  { how: "with a plain request", line: `${CURL} {url}`,                       method: "GET" },
  { how: "through a tunnel",     line: `${CURL} -p {url}`,                    method: "CONNECT" },
  { how: "by the socket itself", line: `${CURL} --noproxy '*' --unix-socket /dev/network.sock --request-target {url} {url}`, method: "GET" },
] as const;

for (const { how, line, method } of REACHED) {
  online(`a command reaches hosts on the allowlist ${how}, and that is reported${needs}`, async () => {
    const { port, place, url } = await serve((_, response) => response.end("hello "));
    const { run, told } = await workspace();
    const end = await run({ run: line.replaceAll("{url}", url), allow: [place] });

    expect(end).toEqual({ said: "hello 200", complained: "", exit_code: 0 });
    expect(told).toMatchObject([{ host: "127.0.0.1", port, method, allowed: true }]);
    expect(told[0]?.bytes_received).toBeGreaterThan(5);
  });
}

// oxfmt-ignore
const REFUSED = [
  { what: "another port of an allowed host",  line: `${CURL} http://127.0.0.1:{other}/`,             says: /loopback address\n403$/,        told: 1 },
  { what: "another host",                     line: `${CURL} http://example.com/`,                   says: /not on the network allowlist\n403$/, told: 1 },
  { what: "another host through a tunnel",    line: "curl -sS https://example.com/ 2>&1",            says: /tunnel failed, response 403/,   told: 1 },
  { what: "an allowed address past the proxy",  line: `${CURL} --noproxy '*' {url} 2>&1`,              says: /curl: \(7\)/,               told: 0 },
  { what: "an address past the proxy",        line: `${CURL} --noproxy '*' http://192.0.2.1/ 2>&1`,  says: /curl: \(7\)/,               told: 0 },
  { what: "a name past the proxy",            line: `${CURL} --noproxy '*' http://example.com/ 2>&1`, says: /curl: \(6\)/,              told: 0 },
  { what: "a datagram to another host",          line: "(echo x > /dev/udp/192.0.2.1/53) 2>&1",         says: /unreachable/,                   told: 0 },
] as const;

for (const { what, line, says, told: times } of REFUSED) {
  online(`a command does not reach ${what}${needs}`, async () => {
    let requests = 0;
    const listener: RequestListener = (_, response) => {
      requests++;
      response.end("reached");
    };
    const [{ place, url }, other] = [await serve(listener), await serve(listener)];
    const { run, told } = await workspace();
    const { said } = await run({ run: line.replace("{url}", url).replace("{other}", `${other.port}`), allow: [place] });

    expect(said).toMatch(says);
    expect(requests).toBe(0);
    expect(told.map(({ allowed }) => allowed)).toEqual(Array.from({ length: times }, () => false));
  });
}

online(`the relay is not among the command's jobs or descriptors, and ends with it${needs}`, async () => {
  const { place, url } = await serve((_, response) => response.end("hello\n"));
  const { run, sockets } = await workspace();
  const lines = `jobs; wait; echo "[$!] $?"; ls /proc/self/fd; (setsid sleep 600 &); curl -sS ${url}; readlink /proc/self/ns/net; exit 3`;
  const { said, complained, exit_code } = await run({ run: lines, allow: [place] });
  const namespace = said.trim().split("\n").at(-1) ?? "";

  expect({ complained, exit_code }).toEqual({ complained: "", exit_code: 3 });
  expect(said).toBe(`[] 0\n0\n1\n2\n3\nhello\n${namespace}\n`); // 3 is the folder that ls reads
  expect(namespace).toMatch(/^net:/);
  expect(processesIn(namespace)).toEqual([]);
  expect(sockets()).toEqual([]);
});

online(`two parallel commands each have their own allowlist${needs}`, async () => {
  const [one, other] = [
    await serve((_, response) => response.end("one ")),
    await serve((_, response) => response.end("other ")),
  ];
  const { run, sockets } = await workspace();
  // Each waits until the other is there.
  const both = (own: string, its: string): string =>
    `touch ${own}; until [ -e ${its} ]; do sleep 0.02; done; for each in ${one.url} ${other.url}; do curl -s -o /dev/null -w '%{http_code} ' $each; done`;
  const ends = await Promise.all([
    run({ run: both("a", "b"), allow: [one.place] }),
    run({ run: both("b", "a"), allow: [other.place] }),
  ]);

  expect(ends.map(({ said }) => said)).toEqual(["200 403 ", "403 200 "]);
  expect(sockets()).toEqual([]);
});

online(`data arrives complete in both directions${needs}`, async () => {
  const body = randomBytes(20_000_000);
  const sum = createHash("sha256").update(body).digest("hex");
  const { place, url } = await serve((request, response) => {
    const hash = createHash("sha256");
    if (request.method === "GET") response.end(body);
    else request.on("data", (piece: Buffer) => hash.update(piece)).on("end", () => response.end(hash.digest("hex")));
  });
  const { run } = await workspace();
  const lines = `curl -sS -o got ${url} && sha256sum < got && curl -sS -p -o got2 ${url} && cmp got got2 && curl -sS -T got ${url} && curl -sS -p -T got ${url}`;

  expect((await run({ run: lines, allow: [place] })).said).toBe(`${sum}  -\n${sum}${sum}`);
});

for (const { how, flag } of [
  { how: "a plain transfer", flag: "" },
  { how: "a tunnel", flag: "-p" },
]) {
  online(`a command that is cancelled in the middle of ${how} leaves nothing${needs}`, async () => {
    const { server, place, url } = await serve((_, response) => void response.write("begun\n"));
    const { start, told, sockets } = await workspace();
    const cancel = new AbortController();
    let said = "";
    const end = await start({
      run: `readlink /proc/self/ns/net; curl -sSN ${flag} ${url}`,
      allow: [place],
      signal: cancel.signal,
      onOutput(_stream, piece) {
        said += piece.toString();
        if (said.includes("begun")) cancel.abort();
      },
    });

    expect(end.ended_by).toBe("cancel");
    expect(processesIn(said.split("\n")[0] ?? "")).toEqual([]);
    expect(sockets()).toEqual([]);
    expect(told).toMatchObject([{ allowed: true }]);
    const open = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    await vi.waitFor(async () => expect(await open()).toBe(0));
  });
}

online(`a workspace path may be longer than a socket path can be${needs}`, async () => {
  const { place, url } = await serve((_, response) => response.end("hello"));
  const { run, at } = await workspace({}, `${"deep/".repeat(40)}end`);

  expect(at("state").length).toBeGreaterThan(200);
  expect((await run({ run: `curl -sS ${url}`, allow: [place] })).said).toBe("hello");
});

online(`a command of another workspace cannot use this one's socket${needs}`, async () => {
  const { place, url } = await serve((_, response) => response.end("reached"));
  const [own, other] = [await workspace(), await workspace()];
  const done = new AbortController();
  const begun = Promise.withResolvers<void>();
  const waiting = own.start({
    run: "echo begun; sleep 60",
    allow: [place],
    signal: done.signal,
    onOutput: () => begun.resolve(),
  });
  await begun.promise;
  const socket = join(own.at("state/sandbox"), own.sockets()[0] ?? "");
  const { onOutput, stdout } = keepPrinted();
  const { exit_code } = await other.processes.run(
    { run: `cd ${own.at("state/sandbox")}; curl -s --unix-socket ./*.sock ${url}`, cwd: other.at("root") },
    { call_id: "t", timeout_ms: 30_000, signal: new AbortController().signal, onOutput },
  );

  expect(existsSync(socket)).toBe(true);
  expect({ said: stdout(), exit_code }).toEqual({ said: "", exit_code: 7 });
  done.abort();
  expect((await waiting).ended_by).toBe("cancel");
});

// oxfmt-ignore
const DENIED = [
  { title: "an empty allowlist",        mode: "auto", allow: [],                   says: /the network allowlist is empty$/ },
  { title: "no allowlist",                      mode: "auto",                              says: /the network allowlist is empty$/ },
  { title: "an invalid allowlist",  mode: "auto", allow: ["https://a.b/c"],    says: /the network allowlist has no valid entry$/ },
  { title: "no sandbox",                        mode: "off",  allow: ["example.com"],      says: /only a sandbox can enforce the allowlist, and none is available$/ },
] as const;

for (const { title, mode, says, ...given } of DENIED) {
  test(`the network is refused with ${title}, and nothing runs`, async () => {
    const { run, at } = await workspace({ mode });

    await expect(run({ run: "touch ran", ...given })).rejects.toMatchObject({
      code: "NetworkDenied",
      message: expect.stringMatching(says),
    });
    expect(readdirSync(at("root"))).toEqual([]);
  });
}

test("the network is refused for a background command", async () => {
  const { processes, at } = await workspace();
  const background = await processes.background();

  await expect(background.start({ run: "touch ran", cwd: at("root"), network: "allowlist" })).rejects.toMatchObject({
    code: "NetworkDenied",
  });
  expect(background.list()).toEqual([]);
});

online(`a command whose relay fails does not start, and the proxy is closed${needs}`, async () => {
  const { run, at, sockets } = await workspace();
  const { execPath } = process;
  onTestFinished(() => void (process.execPath = execPath));
  process.execPath = "/bin/false";

  await expect(run({ run: "touch ran", allow: ["example.com"] })).rejects.toMatchObject({
    code: "SandboxUnavailable",
    details: { reason: "the relay to the proxy failed" },
  });
  expect(readdirSync(at("root"))).toEqual([]);
  expect(sockets()).toEqual([]);
});

online(`sockets of dead processes are removed, others stay${needs}`, async () => {
  const { run, make, sockets } = await workspace();
  const [alive, gone] = [`${ownProcess()}.999.sock`, `${ownProcess().replace(/^\d+\.\d+/, "4194305.1")}.1.sock`];
  await make({ "state/sandbox/": "" });
  await make({ [`state/sandbox/${alive}`]: "", [`state/sandbox/${gone}`]: "", "state/sandbox/other.sock": "" });
  expect((await run({ run: "true", allow: ["example.com"] })).exit_code).toBe(0);

  expect(sockets().sort()).toEqual([alive, "other.sock"].sort());
});

test("a folder that cannot contain a socket is reported", async () => {
  const { run, at, processes } = await workspace();
  await processes.sandbox();
  // The next ones' names are known beforehand: all of them are taken.
  mkdirSync(at("state/sandbox"), { recursive: true });
  for (let next = 1; next < 200; next++) writeFileSync(at(`state/sandbox/${ownProcess()}.${next}.sock`), "");

  await expect(run({ run: "true", allow: ["example.com"] })).rejects.toMatchObject({
    code: "IOError",
    details: { reason: "EADDRINUSE" },
  });
});
