import { existsSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request as openRequest } from "node:http";
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { connect, createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server as TcpServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { startProxy } from "./proxy.ts";
import type { NetworkProxy, ProxiedConnection } from "./proxy.ts";

type Options = Partial<Parameters<typeof startProxy>[0]>;

interface Started {
  readonly proxy: NetworkProxy;
  readonly path: string;
  readonly told: ProxiedConnection[];
}

async function start(options: Options = {}): Promise<Started> {
  const folder = await mkdtemp(join(tmpdir(), "autonous-proxy-"));
  const path = join(folder, "proxy.sock");
  const told: ProxiedConnection[] = [];
  const proxy = await startProxy({
    socket_path: path,
    allow: [],
    signal: new AbortController().signal,
    onConnection: (connection) => told.push(connection),
    ...options,
  });
  onTestFinished(async () => {
    await proxy.close();
    await rm(folder, { recursive: true });
  });
  return { proxy, path, told };
}

async function listening(server: TcpServer): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  onTestFinished(() => server.closeAllConnections());
  return listening(server);
}

/** Says back what it hears. */
function serveEcho(): Promise<number> {
  return listening(createTcpServer((socket) => void socket.on("error", () => {}).pipe(socket)));
}

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function get(
  socketPath: string,
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Got> {
  const { promise, resolve, reject } = Promise.withResolvers<Got>();
  const { body, ...rest } = options;
  const request = openRequest({ socketPath, path: url, ...rest }, (response) => {
    let text = "";
    response.on("data", (chunk) => (text += String(chunk)));
    response
      .on("error", reject)
      .on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
  });
  request.on("error", reject).end(body);
  return await promise;
}

/** What comes back for bytes that are sent as they are, until the proxy closes. */
async function say(socketPath: string, ...bytes: readonly string[]): Promise<string> {
  const socket = connect(socketPath);
  for (const each of bytes) socket.write(each, "latin1");
  return await heard(socket);
}

async function heard(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => (text += String(chunk)));
  await new Promise<void>((resolve, reject) => void socket.once("close", () => resolve()).once("error", reject));
  return text;
}

/** A tunnel that is open. */
async function connectThrough(socketPath: string, authority: string): Promise<{ socket: Socket; head: string }> {
  const socket = connect(socketPath);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const head = await new Promise<string>((resolve, reject) => {
    socket.once("data", (chunk) => resolve(String(chunk))).once("error", reject);
  });
  onTestFinished(() => void socket.destroy());
  return { socket, head };
}

test("a plain request goes to a host on the list, without the headers for the proxy", async () => {
  let seen: IncomingHttpHeaders = {};
  const port = await serve((request, response) => {
    seen = request.headers;
    response.setHeader("x-answer", "yes");
    request.pipe(response);
  });
  const { path, told } = await start({ allow: [`127.0.0.1:${port}`] });
  const headers = {
    host: "evil.example",
    "proxy-authorization": "x",
    "proxy-connection": "keep-alive",
    connection: "x-hop",
    "x-hop": "1",
    "x-own": "2",
  };
  const got = await get(path, `http://127.0.0.1:${port}/a?b`, { method: "POST", headers, body: "hello" });
  expect(got).toMatchObject({ status: 200, body: "hello", headers: { "x-answer": "yes" } });
  expect(seen).toMatchObject({ host: `127.0.0.1:${port}`, "x-own": "2" });
  for (const name of ["proxy-authorization", "proxy-connection", "x-hop"]) expect(seen[name]).toBeUndefined();
  await vi.waitFor(() => expect(told.length).toBe(1));
  expect(told[0]).toMatchObject({ host: "127.0.0.1", port, method: "POST", allowed: true });
  expect(told[0]?.bytes_sent).toBeGreaterThan(5);
  expect(told[0]?.bytes_received).toBeGreaterThan(5);
});

// oxfmt-ignore
const REFUSED_REQUESTS = [
  ["a host that is not on the list",    "http://other.example/",            403],
  ["this machine",                      "http://127.0.0.1:1/",              403],
  ["this machine in odd notation",      "http://0x7f.1/",                   403],
  ["a metadata service",                "http://169.254.169.254/latest/",   403],
  ["a mapped address",                  "http://[::ffff:7f00:1]/",          403],
  ["credentials",                       "http://a:b@example.com/",          403],
  ["a name that leads inside",          "http://inside.example.com/",       403],
  ["https without a tunnel",            "https://example.com/",             400],
  ["a path alone",                      "/etc/passwd",                      400],
  ["another scheme",                    "ftp://example.com/",               400],
  ["a name that does not resolve",      "http://nowhere.example.com/",      502],
] as const;

const NAMES: Readonly<Record<string, readonly string[]>> = {
  "example.com": ["93.184.215.14"],
  "inside.example.com": ["93.184.215.14", "10.0.0.1"],
};
const allow = ["example.com", "*.example.com"];
const resolve = async (host: string): Promise<readonly string[]> => NAMES[host] ?? [];

test.each(REFUSED_REQUESTS)("a plain request for %s is refused with the reason", async (_title, url, status) => {
  const dial = vi.fn<() => Socket>();
  const { path, told } = await start({ allow, resolve, dial });
  const got = await get(path, url);
  expect(got.status).toBe(status);
  expect(got.body).toMatch(/^Cannot (?:reach|serve)/);
  expect(told).toMatchObject([{ allowed: status === 502, bytes_sent: 0, bytes_received: 0 }]);
  expect(dial).not.toHaveBeenCalled();
});

// oxfmt-ignore
const REFUSED_TUNNELS = [
  ["a host that is not on the list",  "other.example:443",          "403"],
  ["another port",                    "example.com:22",             "403"],
  ["this machine",                    "127.0.0.1:443",              "403"],
  ["this machine, mapped",            "[::ffff:127.0.0.1]:443",     "403"],
  ["a name that leads inside",        "inside.example.com:443",     "403"],
  ["no port",                         "example.com",                "400"],
  ["credentials",                     "a@example.com:443",          "400"],
  ["a path",                          "example.com:443/x",          "400"],
  ["an escape in the name",           "evil%00.example.com:443",    "400"],
  ["a NUL in the name",               "evil\0.example.com:443",     "400"],
  ["a control character",             "evil\u0001.example.com:443", "400"],
  ["a line break",                    "evil\r.example.com:443",     "400"],
] as const;

test.each(REFUSED_TUNNELS)("a tunnel to %s is refused", async (_title, authority, status) => {
  const dial = vi.fn<() => Socket>();
  const { path } = await start({ allow, resolve, dial });
  const answer = await say(path, `CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(dial).not.toHaveBeenCalled();
});

test("a tunnel passes bytes both ways, and is reported when it ends", async () => {
  const port = await serveEcho();
  const { path, told } = await start({ allow: [`127.0.0.1:${port}`] });
  const { socket, head } = await connectThrough(path, `127.0.0.1:${port}`);
  expect(head).toMatch(/^HTTP\/1\.1 200 /);
  const answer = heard(socket);
  socket.end("x".repeat(300_000));
  expect((await answer).length).toBe(300_000);
  await vi.waitFor(() => expect(told.length).toBe(1));
  expect(told[0]).toEqual({
    host: "127.0.0.1",
    port,
    method: "CONNECT",
    allowed: true,
    bytes_sent: 300_000,
    bytes_received: 300_000,
  });
});

test("a tunnel goes to the checked address, from the first resolution of the name", async () => {
  const port = await serveEcho();
  const dial = vi.fn((_addresses: readonly string[], _port: number) => connect({ host: "127.0.0.1", port }));
  const lookup = vi
    .fn<(host: string) => Promise<string[]>>()
    .mockResolvedValueOnce(["93.184.215.14"])
    .mockResolvedValue(["127.0.0.1"]);
  const { path } = await start({ allow, resolve: lookup, dial });
  await connectThrough(path, "EXAMPLE.com.:443");
  expect(dial.mock.calls).toEqual([[["93.184.215.14"], 443]]);
  const again = await connectThrough(path, "example.com:443");
  expect(again.head).toMatch(/^HTTP\/1\.1 403 /);
});

test("bytes that a client sends right after its CONNECT arrive", async () => {
  const port = await serveEcho();
  const { path } = await start({ allow: [`127.0.0.1:${port}`] });
  const socket = connect(path);
  socket.end(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\nearly`);
  expect(await heard(socket)).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\nearly$/);
});

test("a server that disconnects ends the tunnel, and a client that disconnects ends the server's side", async () => {
  const ends = new Set<Socket>();
  const port = await listening(
    createTcpServer((socket) => void ends.add(socket.on("error", () => {}).once("close", () => ends.delete(socket)))),
  );
  const { path, told } = await start({ allow: [`127.0.0.1:${port}`] });
  const first = await connectThrough(path, `127.0.0.1:${port}`);
  for (const end of ends) end.destroy();
  await heard(first.socket);
  const second = await connectThrough(path, `127.0.0.1:${port}`);
  second.socket.destroy();
  await vi.waitFor(() => expect(ends.size).toBe(0));
  await vi.waitFor(() => expect(told.length).toBe(2));
});

test("an idle connection is closed", async () => {
  const port = await serveEcho();
  const { path, told } = await start({ allow: [`127.0.0.1:${port}`], idle_ms: 50 });
  const { socket } = await connectThrough(path, `127.0.0.1:${port}`);
  await heard(socket);
  await vi.waitFor(() => expect(told.length).toBe(1));
});

test("more connections than the limit are refused", async () => {
  const port = await serveEcho();
  const { path } = await start({ allow: [`127.0.0.1:${port}`], max_connections: 2 });
  await connectThrough(path, `127.0.0.1:${port}`);
  await connectThrough(path, `127.0.0.1:${port}`);
  expect(await say(path)).toBe("");
});

test("a partial response of a server does not look complete to the client", async () => {
  const port = await serve((_request, response) => {
    response.writeHead(200, { "content-length": "100" }).write("half", () => response.destroy());
  });
  const { path } = await start({ allow: [`127.0.0.1:${port}`] });
  await expect(get(path, `http://127.0.0.1:${port}/`)).rejects.toThrow();
});

test("a server that does not respond with HTTP is a bad gateway", async () => {
  const port = await listening(
    createTcpServer(
      (socket) =>
        void socket
          .on("error", () => {})
          .resume()
          .end("SSH-2.0-x\r\n"),
    ),
  );
  const { path, told } = await start({ allow: [`127.0.0.1:${port}`] });
  expect((await get(path, `http://127.0.0.1:${port}/`)).status).toBe(502);
  expect(told).toMatchObject([{ allowed: true, reason: expect.stringContaining("127.0.0.1") as unknown }]);
});

test("input that is not an HTTP request gets status 400", async () => {
  const { path } = await start();
  expect(await say(path, "nonsense\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
});

test("an upgrade is refused", async () => {
  const { path } = await start();
  const asked = "GET http://example.com/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
  expect(await say(path, asked)).toMatch(/^HTTP\/1\.1 501 /);
});

test("closing ends every connection, reports each, and removes the socket", async () => {
  const port = await serveEcho();
  const { proxy, path, told } = await start({ allow: [`127.0.0.1:${port}`] });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const { socket } = await connectThrough(path, `127.0.0.1:${port}`);
  const ended = heard(socket);
  await proxy.close();
  await proxy.close();
  await ended;
  expect(told.length).toBe(1);
  expect(existsSync(path)).toBe(false);
});

test("closing does not wait for a server that reads nothing", async () => {
  const port = await listening(createTcpServer((socket) => void socket.on("error", () => {}).pause()));
  const { proxy, path, told } = await start({ allow: [`127.0.0.1:${port}`] });
  const { socket } = await connectThrough(path, `127.0.0.1:${port}`);
  socket.on("error", () => {});
  await new Promise<void>((resolve) => {
    while (socket.write("x".repeat(1_000_000)));
    resolve();
  });
  await proxy.close();
  expect(told.length).toBe(1);
});

test("the signal has the same effect as closing", async () => {
  const stop = new AbortController();
  const { proxy, path } = await start({ signal: stop.signal });
  stop.abort();
  await proxy.close();
  expect(existsSync(path)).toBe(false);
});
