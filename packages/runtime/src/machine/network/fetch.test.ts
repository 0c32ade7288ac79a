import { randomBytes } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer as createTcpServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeCertificate } from "../../../../../test/support/certificate.ts";
import type { NetworkRequest, NetworkResponse } from "../../contract/network.ts";
import { ToolError } from "../../protocol/errors.ts";
import { createToolNetwork } from "./fetch.ts";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Place {
  readonly port: number;
  /** `127.0.0.1:port`, as an allowlist has it. */
  readonly host: string;
  readonly url: string;
  readonly seen: readonly Seen[];
}

type Answer = (request: Seen, response: ServerResponse) => void;

async function listening(server: Server, scheme = "http"): Promise<Omit<Place, "seen">> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => void server.close(() => resolve()));
  });
  const { port } = server.address() as AddressInfo;
  return { port, host: `127.0.0.1:${port}`, url: `${scheme}://127.0.0.1:${port}/` };
}

function recording(answer: Answer): { listener: RequestListener; seen: Seen[] } {
  const seen: Seen[] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { method = "", url = "", headers } = request;
    seen.push({ method, url, headers, body });
    answer({ method, url, headers, body }, response);
  };
  return { listener: (request, response) => void listener(request, response), seen };
}

async function serve(answer: Answer): Promise<Place> {
  const { listener, seen } = recording(answer);
  return { ...(await listening(createHttpServer(listener))), seen };
}

type Options = Partial<Parameters<typeof createToolNetwork>[0]>;

function ask(request: Partial<NetworkRequest> & { url: string }, options: Options): Promise<NetworkResponse> {
  const network = createToolNetwork({ allow: [], signal: new AbortController().signal, ...options });
  return network.request({ method: "GET", headers: {}, max_bytes: 100_000, timeout_ms: 20_000, ...request });
}

async function failureOf(work: Promise<unknown>): Promise<ToolError> {
  const error = await work.then(
    () => undefined,
    (problem: unknown) => problem,
  );
  if (!(error instanceof ToolError)) throw new Error(`expected a ToolError, got ${String(error)}`, { cause: error });
  return error;
}

function textOf({ body }: NetworkResponse): string {
  return Buffer.from(body).toString("utf8");
}

test("a request is sent as specified, and its response returned with status, headers and body", async () => {
  const place = await serve((_request, response) => {
    response.writeHead(201, "Made", { "x-answer": "yes", "content-type": "text/plain" }).end("hello");
  });
  const response = await ask(
    { url: `${place.url}a%20b?c=d#fragment`, method: "POST", headers: { "X-Own": "1" }, body: "grüße" },
    { allow: [place.host] },
  );
  expect(response).toMatchObject({
    status: 201,
    status_text: "Made",
    truncated: false,
    redirects: [],
    url: `${place.url}a%20b?c=d`,
  });
  expect(response.headers).toMatchObject({ "x-answer": "yes", "content-type": "text/plain" });
  expect(textOf(response)).toBe("hello");
  expect(place.seen).toMatchObject([
    {
      method: "POST",
      url: "/a%20b?c=d",
      body: "grüße",
      headers: { "x-own": "1", host: place.host, connection: "close" },
    },
  ]);
});

test("a response of any status is returned", async () => {
  const place = await serve((_request, response) => response.writeHead(503).end("later"));
  expect(await ask({ url: place.url }, { allow: [place.host] })).toMatchObject({ status: 503 });
});

test("a host that is not on the allowlist is never contacted", async () => {
  const place = await serve((_request, response) => response.end("x"));
  for (const allow of [[], ["example.com"], ["127.0.0.1"], ["*"], [`127.0.0.1:${place.port + 1}`]]) {
    const error = await failureOf(ask({ url: place.url }, { allow }));
    expect(error.code).toBe("NetworkDenied");
  }
  expect(place.seen).toEqual([]);
});

test("an invalid URL is the caller's error", async () => {
  expect(await failureOf(ask({ url: "http://evil\0.example.com/" }, { allow: ["*"] }))).toMatchObject({
    code: "InvalidArguments",
    details: { field: "url" },
  });
});

// oxfmt-ignore
const CLOSED_ANSWERS = [
  ["loopback",                      ["127.0.0.1"]],
  ["any address of this machine",   ["0.0.0.0"]],
  ["a private network",             ["10.0.0.1"]],
  ["a metadata service",            ["169.254.169.254"]],
  ["a mapped loopback",             ["::ffff:127.0.0.1"]],
  ["one public and one private",    ["93.184.215.14", "192.168.0.1"]],
  ["a link-local with its zone",    ["fe80::1%eth0"]],
  ["not an address",                ["localhost"]],
] as const;

test.each(CLOSED_ANSWERS)(
  "a name that resolves to %s is refused, and no address is revealed",
  async (_title, addresses) => {
    const dial = vi.fn<() => Socket>();
    const error = await failureOf(
      ask({ url: "http://example.com/" }, { allow: ["example.com"], resolve: async () => addresses, dial }),
    );
    expect(error.code).toBe("NetworkDenied");
    for (const address of addresses) expect(JSON.stringify([error.message, error.details])).not.toContain(address);
    expect(dial).not.toHaveBeenCalled();
  },
);

/** A network in which names lead where a table says, and every public address is really the same machine. */
function pretend(names: Readonly<Record<string, readonly string[]>>, port: number) {
  const resolve = vi.fn(async (host: string) => names[host] ?? []);
  const dial = vi.fn((_addresses: readonly string[], _port: number) => connect({ host: "127.0.0.1", port }));
  return { resolve, dial };
}

test("a name is resolved once, and the checked address is used, whatever it resolves to later", async () => {
  const place = await serve((_request, response) => response.end("public"));
  const { dial } = pretend({}, place.port);
  const resolve = vi
    .fn<(host: string) => Promise<string[]>>()
    .mockResolvedValueOnce(["93.184.215.14"])
    .mockResolvedValue(["127.0.0.1"]);
  expect(textOf(await ask({ url: "http://example.com/" }, { allow: ["example.com"], resolve, dial }))).toBe("public");
  expect(resolve).toHaveBeenCalledTimes(1);
  expect(dial.mock.calls).toEqual([[["93.184.215.14"], 80]]);
  expect(place.seen[0]?.headers.host).toBe("example.com");
  expect(await failureOf(ask({ url: "http://example.com/" }, { allow: ["example.com"], resolve, dial }))).toMatchObject(
    { code: "NetworkDenied" },
  );
  expect(dial).toHaveBeenCalledTimes(1);
});

test("localhost is this machine, and is not resolved", async () => {
  const place = await serve((_request, response) => response.end("here"));
  const resolve = vi.fn(async () => ["93.184.215.14"]);
  const url = `http://localhost:${place.port}/`;
  expect(textOf(await ask({ url }, { allow: [`localhost:${place.port}`], resolve }))).toBe("here");
  expect(resolve).not.toHaveBeenCalled();
});

test("a redirect is followed, and each step is checked like a new request", async () => {
  const place = await serve(({ url }, response) => {
    if (url === "/") response.writeHead(302, { location: "/next" }).end();
    else response.end("there");
  });
  const asked: string[] = [];
  const response = await ask(
    { url: place.url },
    { allow: [place.host], onRequest: ({ method }) => asked.push(method) },
  );
  expect(response).toMatchObject({ url: `${place.url}next`, redirects: [place.url], status: 200 });
  expect(asked).toEqual(["GET", "GET"]);
});

// oxfmt-ignore
const BAD_LOCATIONS = [
  ["to a host that is not on the list",   "http://other.example/"],
  ["to this machine",                     "http://127.0.0.1:1/"],
  ["to this machine in odd notation",     "http://0x7f.1:1/"],
  ["to a metadata service",               "http://169.254.169.254/latest/"],
  ["to a mapped address",                 "http://[::ffff:7f00:1]/"],
  ["to a file",                           "file:///etc/passwd"],
  ["with credentials",                    "http://user:pass@example.com/"],
  ["that is not a URL",                   "http://["],
  ["with a backslash",                    "/\\other.example/"],
] as const;

test.each(BAD_LOCATIONS)("a redirect %s is refused", async (_title, location) => {
  const place = await serve((_request, response) => response.writeHead(302, { location }).end());
  const { resolve, dial } = pretend({ "example.com": ["93.184.215.14"] }, place.port);
  const error = await failureOf(ask({ url: "http://example.com/" }, { allow: ["example.com"], resolve, dial }));
  expect(error.code).toBe("NetworkDenied");
  expect(error.message).toContain('Cannot follow the redirect from "example.com"');
  expect(place.seen.length).toBe(1);
});

test("the name of a redirect is resolved again, and refused if it now has a private address", async () => {
  const place = await serve((_request, response) => response.writeHead(302, { location: "/again" }).end());
  const { dial } = pretend({}, place.port);
  const resolve = vi
    .fn<(host: string) => Promise<string[]>>()
    .mockResolvedValueOnce(["93.184.215.14"])
    .mockResolvedValue(["127.0.0.1"]);
  expect((await failureOf(ask({ url: "http://example.com/" }, { allow: ["example.com"], resolve, dial }))).code).toBe(
    "NetworkDenied",
  );
  expect(place.seen.length).toBe(1);
});

test("endless redirects are given up on after five", async () => {
  const place = await serve(({ url }, response) => response.writeHead(302, { location: `${url}x` }).end());
  const error = await failureOf(ask({ url: place.url }, { allow: [place.host] }));
  expect(error).toMatchObject({
    code: "IOError",
    message: expect.stringContaining("more than 5 redirects") as unknown,
  });
  expect(place.seen.length).toBe(6);
});

// oxfmt-ignore
const METHODS = [
  [301, "POST",   "GET",    ""],
  [302, "POST",   "GET",    ""],
  [303, "POST",   "GET",    ""],
  [303, "PUT",    "GET",    ""],
  [303, "HEAD",   "HEAD",   ""],
  [301, "PUT",    "PUT",    "data"],
  [302, "DELETE", "DELETE", ""],
  [307, "POST",   "POST",   "data"],
  [308, "PATCH",  "PATCH",  "data"],
] as const;

test.each(METHODS)("after %d at the same origin a %s continues as %s", async (status, method, then, body) => {
  const place = await serve(({ url }, response) => {
    if (url === "/") response.writeHead(status, { location: "/next" }).end();
    else response.end();
  });
  const sent = method === "HEAD" || method === "DELETE" ? {} : { body: "data" };
  const headers = { authorization: "Bearer x", "content-type": "text/x" };
  await ask({ url: place.url, method, headers, ...sent }, { allow: [place.host] });
  expect(place.seen[1]).toMatchObject({ method: then, body, headers: { authorization: "Bearer x" } });
  expect(place.seen[1]?.headers["content-type"]).toBe(then === "GET" ? undefined : "text/x");
});

test("another origin gets neither credentials nor any header that may contain them", async () => {
  const second = await serve((_request, response) => response.end("second"));
  const first = await serve((_request, response) => response.writeHead(302, { location: second.url }).end());
  const headers = {
    Authorization: "Bearer x",
    Cookie: "a=b",
    "X-Api-Key": "k",
    "X-Plain": "p",
    Accept: "text/plain",
    "Accept-Language": "de",
  };
  await ask({ url: first.url, headers }, { allow: [first.host, second.host] });
  expect(first.seen[0]?.headers).toMatchObject({
    authorization: "Bearer x",
    cookie: "a=b",
    "x-api-key": "k",
    "x-plain": "p",
  });
  const got = second.seen[0]?.headers ?? {};
  expect(got).toMatchObject({ accept: "text/plain", "accept-language": "de", host: second.host });
  for (const name of ["authorization", "cookie", "x-api-key", "x-plain", "referer"]) expect(got[name]).toBeUndefined();
});

test.each([
  [307, "POST"],
  [308, "PUT"],
  [301, "PUT"],
  [307, "DELETE"],
])("after %d a %s is not sent on to another origin", async (status, method) => {
  const second = await serve((_request, response) => response.end("second"));
  const first = await serve((_request, response) =>
    response.writeHead(status, { location: `${second.url}in?key=1` }).end(),
  );
  const sent = method === "DELETE" ? {} : { body: "secret" };
  const error = await failureOf(ask({ url: first.url, method, ...sent }, { allow: [first.host, second.host] }));
  expect(error).toMatchObject({ code: "NetworkDenied", details: { location: `${second.url}in` } });
  expect(second.seen).toEqual([]);
});

test("after a POST, another origin gets a GET without the body", async () => {
  const second = await serve((_request, response) => response.end("second"));
  const first = await serve((_request, response) => response.writeHead(303, { location: second.url }).end());
  await ask({ url: first.url, method: "POST", body: "secret" }, { allow: [first.host, second.host] });
  expect(second.seen).toMatchObject([{ method: "GET", body: "" }]);
});

test("the proxy variables of the environment are ignored", async () => {
  const proxy = await serve((_request, response) => response.end("proxy"));
  const place = await serve((_request, response) => response.end("direct"));
  for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY", "NODE_USE_ENV_PROXY"]) {
    vi.stubEnv(name, name === "NODE_USE_ENV_PROXY" ? "1" : proxy.url);
  }
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(textOf(await ask({ url: place.url }, { allow: [place.host] }))).toBe("direct");
  expect(proxy.seen).toEqual([]);
});

// oxfmt-ignore
const BAD_HEADERS = [
  ["a line break in a value",        { "x-a": "1\r\nhost: evil" }],
  ["a NUL in a value",               { "x-a": "1\0" }],
  ["a name that is none",            { "x a": "1" }],
  ["an empty name",                  { "": "1" }],
  ["the host",                       { Host: "evil.example" }],
  ["the length",                     { "Content-Length": "5" }],
  ["the framing",                    { "transfer-encoding": "chunked" }],
  ["a word to proxies",              { "Proxy-Authorization": "x" }],
  ["one name twice",                 { "X-A": "1", "x-a": "2" }],
  ["too much",                       { "x-a": "a".repeat(20_000) }],
] as const;

test.each(BAD_HEADERS)("headers with %s are refused, and nothing is sent", async (_title, headers) => {
  const place = await serve((_request, response) => response.end());
  const error = await failureOf(ask({ url: place.url, headers }, { allow: [place.host] }));
  expect(error).toMatchObject({ code: "InvalidArguments", details: { field: "headers" } });
  expect(place.seen).toEqual([]);
});

test("cookies of a response are counted and not shown", async () => {
  const place = await serve((_request, response) =>
    response.writeHead(200, { "set-cookie": ["session=abc123", "b=2"] }).end(),
  );
  const { headers } = await ask({ url: place.url }, { allow: [place.host] });
  expect(headers["set-cookie"]).toBe("(2 cookies, not shown)");
  expect(JSON.stringify(headers)).not.toContain("abc123");
});

test("a body over the limit is truncated, and the rest is not read", async () => {
  const place = await serve((_request, response) => {
    response.writeHead(200);
    const more = (): void => {
      while (response.write("x".repeat(65_536)));
      response.once("drain", more);
    };
    more();
  });
  const response = await ask({ url: place.url, max_bytes: 1000 }, { allow: [place.host] });
  expect(response.truncated).toBe(true);
  expect(response.body.length).toBe(1000);
});

test("a body of exactly the limit is complete", async () => {
  const place = await serve((_request, response) => response.end("x".repeat(1000)));
  expect(await ask({ url: place.url, max_bytes: 1000 }, { allow: [place.host] })).toMatchObject({ truncated: false });
});

const TEXT = `${"packed text ".repeat(500)}end`;
// oxfmt-ignore
const PACKED = [
  ["gzip",     gzipSync(TEXT)],
  ["GZip",     gzipSync(TEXT)],
  ["deflate",  deflateSync(TEXT)],
  ["deflate",  deflateRawSync(TEXT)],
  ["br",       brotliCompressSync(TEXT)],
  ["identity", Buffer.from(TEXT)],
] as const;

test.each(PACKED)("a body compressed as %s is decompressed", async (encoding, packed) => {
  const place = await serve((_request, response) =>
    response.writeHead(200, { "content-encoding": encoding }).end(packed),
  );
  const response = await ask({ url: place.url }, { allow: [place.host] });
  expect(textOf(response)).toBe(TEXT);
  expect(response).toMatchObject({ encoding: undefined, truncated: false });
});

test("a long compressed body is decompressed completely, however it arrives", async () => {
  const long = randomBytes(3_000_000);
  const place = await serve((_request, response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(long)),
  );
  const { body } = await ask({ url: place.url, max_bytes: 4_000_000 }, { allow: [place.host] });
  expect(Buffer.compare(body, long)).toBe(0);
});

test.each([
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
] as const)("a decompression bomb in %s stops at the limit", async (encoding, pack) => {
  const bomb = pack(Buffer.alloc(50_000_000));
  const place = await serve((_request, response) =>
    response.writeHead(200, { "content-encoding": encoding }).end(bomb),
  );
  const response = await ask({ url: place.url, max_bytes: 5000 }, { allow: [place.host] });
  expect(response.truncated).toBe(true);
  expect(response.body.length).toBe(5000);
});

test("compressed data without content ends", async () => {
  const place = await serve((_request, response) => {
    response.writeHead(200, { "content-encoding": "gzip" });
    const empty = Buffer.concat(Array.from({ length: 5000 }, () => gzipSync("")));
    const more = (): void => {
      while (response.write(empty));
      response.once("drain", more);
    };
    more();
  });
  expect((await failureOf(ask({ url: place.url, max_bytes: 1000 }, { allow: [place.host] }))).code).toBe("IOError");
});

test.each([
  ["cut off", gzipSync(randomBytes(5000)).subarray(0, 3000)],
  ["not packed at all", Buffer.from("plain")],
])("a body that is %s although declared as compressed is an error", async (_title, body) => {
  const place = await serve((_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(body));
  const error = await failureOf(ask({ url: place.url }, { allow: [place.host] }));
  expect(error).toMatchObject({
    code: "IOError",
    message: expect.stringContaining("does not match its content encoding") as unknown,
  });
});

test("a body in an encoding that was not requested is returned unchanged, with a note", async () => {
  const place = await serve((_request, response) =>
    response.writeHead(200, { "content-encoding": "zstd" }).end("????"),
  );
  expect(await ask({ url: place.url }, { allow: [place.host] })).toMatchObject({ encoding: "zstd" });
});

test("a response to HEAD has no body, whatever its headers say", async () => {
  const place = await serve((_request, response) =>
    response.writeHead(200, { "content-encoding": "gzip", "content-length": "9" }).end(),
  );
  expect((await ask({ url: place.url, method: "HEAD" }, { allow: [place.host] })).body.length).toBe(0);
});

test("a server that does not respond in time is a Timeout", async () => {
  const place = await serve(() => {});
  const error = await failureOf(ask({ url: place.url, timeout_ms: 50 }, { allow: [place.host] }));
  expect(error).toMatchObject({ code: "Timeout", details: { timeout_ms: 50 } });
});

test("a server that never ends its response is a Timeout", async () => {
  const place = await serve((_request, response) => response.write("a"));
  expect((await failureOf(ask({ url: place.url, timeout_ms: 100 }, { allow: [place.host] }))).code).toBe("Timeout");
});

test("a resolver that never answers is a Timeout", async () => {
  const resolve = (): Promise<string[]> => new Promise(() => {});
  expect((await failureOf(ask({ url: "http://example.com/", timeout_ms: 50 }, { allow: ["*"], resolve }))).code).toBe(
    "Timeout",
  );
});

test("the call's signal aborts a request with its reason", async () => {
  const stop = new AbortController();
  const place = await serve(() => stop.abort(new Error("enough")));
  await expect(ask({ url: place.url }, { allow: [place.host], signal: stop.signal })).rejects.toThrow("enough");
});

test("a connection is closed after the response, even after a partial one", async () => {
  const open = new Set<Socket>();
  const server = createHttpServer((request, response) => {
    response.writeHead(200).write("x".repeat(100));
    if (request.url === "/whole") response.end();
  });
  server.on("connection", (socket) => open.add(socket.once("close", () => open.delete(socket))));
  const place = await listening(server);
  await ask({ url: `${place.url}whole` }, { allow: [place.host] });
  await ask({ url: `${place.url}half`, max_bytes: 10 }, { allow: [place.host] });
  await vi.waitFor(() => expect(open.size).toBe(0));
});

async function speaking(say: (socket: Socket) => void): Promise<Omit<Place, "seen">> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => say(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  return { port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/` };
}

// oxfmt-ignore
const BAD_SERVERS = [
  ["closes at once",            (socket: Socket) => socket.destroy(),                                                     /closed the connection/],
  ["does not speak HTTP",       (socket: Socket) => socket.end("SSH-2.0-x\r\n"),                                          /does not speak HTTP/],
  ["breaks off",                (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),       /closed the connection/],
  ["sends endless headers",     (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${"a".repeat(200_000)}\r\n\r\n`),   /headers are too long/],
  ["changes the protocol",      (socket: Socket) => socket.end("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), /does not speak HTTP|closed the connection/],
  ["sends two lengths",         (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na"), /does not speak HTTP/],
] as const;

test.each(BAD_SERVERS)("a server that %s is an IOError that says so", async (_title, say, says) => {
  const place = await speaking(say);
  const error = await failureOf(ask({ url: place.url }, { allow: [place.host] }));
  expect(error.code).toBe("IOError");
  expect(error.message).toMatch(says);
});

test("a closed port is an IOError that says so", async () => {
  const place = await speaking(() => {});
  const server = createTcpServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  expect(place.port).not.toBe(port);
  const error = await failureOf(ask({ url: `http://127.0.0.1:${port}/` }, { allow: [`127.0.0.1:${port}`] }));
  expect(error).toMatchObject({
    code: "IOError",
    message: `Cannot reach "127.0.0.1" on port ${port}: connection refused`,
  });
});

test.each([
  ["has no address", async () => []],
  [
    "does not exist",
    async () => Promise.reject(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" })),
  ],
])("a name that %s is an IOError that says so", async (_title, resolve) => {
  const error = await failureOf(ask({ url: "http://example.com/" }, { allow: ["*"], resolve }));
  expect(error).toMatchObject({ code: "IOError", message: expect.stringContaining("host not found") as unknown });
});

async function serveSecurely(name: string, answer: Answer): Promise<Place & { readonly ca: string }> {
  const { key, cert } = makeCertificate(name);
  const { listener, seen } = recording(answer);
  return { ...(await listening(createHttpsServer({ key, cert }, listener), "https")), seen, ca: cert };
}

test("https works with a server whose certificate is valid for the name", async () => {
  const place = await serveSecurely("example.com", (_request, response) => response.end("secure"));
  const options = {
    allow: ["example.com"],
    ca: place.ca,
    ...pretend({ "example.com": ["93.184.215.14"] }, place.port),
  };
  expect(textOf(await ask({ url: "https://example.com/" }, options))).toBe("secure");
  expect(textOf(await ask({ url: place.url }, { allow: [place.host], ca: place.ca }))).toBe("secure");
});

test("an untrusted certificate is refused, even if the environment says otherwise", async () => {
  const place = await serveSecurely("example.com", (_request, response) => response.end("secure"));
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  onTestFinished(() => void vi.unstubAllEnvs());
  const error = await failureOf(ask({ url: place.url }, { allow: [place.host] }));
  expect(error).toMatchObject({ code: "IOError", message: expect.stringContaining("self-signed") as unknown });
  expect(place.seen).toEqual([]);
});

test("no connection stays open after https, nor after a refused certificate", async () => {
  const { key, cert } = makeCertificate("example.com");
  const open = new Set<Socket>();
  const server = createHttpsServer({ key, cert }, (_request, response) => response.end("secure"));
  server.on("connection", (socket: Socket) => open.add(socket.once("close", () => open.delete(socket))));
  const place = await listening(server, "https");
  expect((await ask({ url: place.url }, { allow: [place.host], ca: cert })).status).toBe(200);
  await vi.waitFor(() => expect(open.size).toBe(0));
  await failureOf(ask({ url: place.url }, { allow: [place.host] }));
  await vi.waitFor(() => expect(open.size).toBe(0));
});

test("a certificate for another host is refused", async () => {
  const place = await serveSecurely("other.example", (_request, response) => response.end("secure"));
  const options = {
    allow: ["example.com"],
    ca: place.ca,
    ...pretend({ "example.com": ["93.184.215.14"] }, place.port),
  };
  const error = await failureOf(ask({ url: "https://example.com/" }, options));
  expect(error).toMatchObject({ code: "IOError", message: expect.stringContaining("for another host") as unknown });
});

test("a server without TLS is an IOError that says so", async () => {
  const plain = await serve((_request, response) => response.end("plain"));
  const error = await failureOf(ask({ url: `https://${plain.host}/` }, { allow: [plain.host] }));
  expect(error).toMatchObject({ code: "IOError", message: expect.stringContaining("TLS handshake failed") as unknown });
});

test("a redirect from https to http is refused", async () => {
  const plain = await serve((_request, response) => response.end("plain"));
  const place = await serveSecurely("example.com", (_request, response) =>
    response.writeHead(302, { location: plain.url }).end(),
  );
  const error = await failureOf(ask({ url: place.url }, { allow: [place.host, plain.host], ca: place.ca }));
  expect(error).toMatchObject({
    code: "NetworkDenied",
    message: expect.stringContaining("from https to http") as unknown,
  });
  expect(plain.seen).toEqual([]);
});
