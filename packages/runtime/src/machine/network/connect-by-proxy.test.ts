import { createServer as createHttpServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { makeCertificate } from "../../../../../test/support/certificate.ts";
import type { NetworkRequest, NetworkResponse } from "../../contract/network.ts";
import { createToolNetwork } from "./fetch.ts";

/** Addresses that are public, and that nothing but the proxy below can reach. */
const PUBLIC = "93.184.216.34";
const LOGIN = "me:s3 cret";

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

interface Proxy {
  readonly place: string;
  readonly passed: { readonly line: string; readonly login: string | undefined; readonly key: string | undefined }[];
}

/** Leads every tunnel to one port, and answers plain requests by itself. */
async function startProxy(port: number, status = "200 OK"): Promise<Proxy> {
  const passed: Proxy["passed"] = [];
  const note = ({ method = "", url = "", headers }: IncomingMessage): void =>
    void passed.push({ line: `${method} ${url}`, login: headers["proxy-authorization"], key: headers.authorization });
  const proxy = createHttpServer((request, response) => {
    note(request);
    if (request.url?.endsWith("/away") === true) response.writeHead(302, { location: "http://10.0.0.1/" }).end();
    else response.writeHead(200).end("plain");
  });
  proxy.on("connect", (request: IncomingMessage, socket) => {
    note(request);
    socket.on("error", () => socket.destroy());
    if (!status.startsWith("200")) return void socket.end(`HTTP/1.1 ${status}\r\n\r\n`);
    const onward = connect(port, "127.0.0.1", () => {
      socket.write(`HTTP/1.1 ${status}\r\n\r\n`);
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    onTestFinished(() => void onward.destroy());
  });
  onTestFinished(() => proxy.closeAllConnections());
  return { place: `127.0.0.1:${await listen(proxy)}`, passed };
}

interface World {
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  readonly ca?: string;
  readonly environment: Readonly<Record<string, string>>;
}

function ask(url: string, world: World, request: Partial<NetworkRequest> = {}): Promise<NetworkResponse> {
  const resolve = (): Promise<readonly string[]> => Promise.resolve([PUBLIC]);
  const allow = ["api.test", "plain.test", "inside.test", "127.0.0.1:9"];
  const network = createToolNetwork({ allow, signal: new AbortController().signal, resolve, ...world });
  return network.request({ url, method: "GET", headers: {}, max_bytes: 1000, timeout_ms: 20_000, ...request });
}

test("an https request goes through a tunnel to the checked name; the proxy sees none of its headers", async () => {
  const { key, cert } = makeCertificate("api.test");
  const server = createHttpsServer({ key, cert }, (_request, response) => response.end("secure"));
  const proxy = await startProxy(await listen(server));
  onTestFinished(() => server.closeAllConnections());
  const environment = { HTTPS_PROXY: `http://me:s3%20cret@${proxy.place}` };
  const headers = { authorization: "Bearer key" };
  const answer = await ask("https://api.test/x?y", { ca: cert, environment }, { headers });
  expect(Buffer.from(answer.body).toString()).toBe("secure");
  const login = `Basic ${Buffer.from(LOGIN).toString("base64")}`;
  expect(proxy.passed).toEqual([{ line: "CONNECT api.test:443", login, key: undefined }]);
});

test("a certificate for another host is refused behind a proxy too", async () => {
  const { key, cert } = makeCertificate("other.test");
  const server = createHttpsServer({ key, cert }, (_request, response) => response.end("x"));
  const proxy = await startProxy(await listen(server));
  onTestFinished(() => server.closeAllConnections());
  const environment = { ALL_PROXY: `http://${proxy.place}` };
  await expect(ask("https://api.test/", { ca: cert, environment })).rejects.toThrow(/certificate is for another host/);
});

test("an http request is sent to the proxy with its full address, and a redirect is checked as usual", async () => {
  const proxy = await startProxy(0);
  const environment = { http_proxy: `http://${proxy.place}` };
  const answer = await ask("http://plain.test/a?b=c", { environment });
  expect(Buffer.from(answer.body).toString()).toBe("plain");
  await expect(ask("http://plain.test/away", { environment })).rejects.toMatchObject({ code: "NetworkDenied" });
  expect(proxy.passed.map(({ line }) => line)).toEqual(["GET http://plain.test/a?b=c", "GET http://plain.test/away"]);
});

// oxfmt-ignore
const REFUSED = [
  { title: "a host that is not on the allowlist",   url: "https://elsewhere.test/", addresses: [PUBLIC] },
  { title: "a name that resolves to a private address", url: "https://inside.test/",   addresses: ["10.0.0.7"] },
  { title: "a name that resolves to cloud metadata", url: "http://inside.test/",  addresses: [PUBLIC, "169.254.169.254"] },
] as const;

for (const { title, url, addresses } of REFUSED) {
  test(`${title} is refused before the proxy is contacted`, async () => {
    const proxy = await startProxy(0);
    const world = { environment: { ALL_PROXY: `http://${proxy.place}` }, resolve: () => Promise.resolve(addresses) };
    await expect(ask(url, world)).rejects.toMatchObject({ code: "NetworkDenied" });
    expect(proxy.passed).toEqual([]);
  });
}

test("NO_PROXY and this machine are reached directly", async () => {
  const proxy = await startProxy(0);
  const environment = { ALL_PROXY: `http://${proxy.place}`, NO_PROXY: "10.0.0.0/8,.test:443" };
  const gone = { environment, resolve: () => Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND" })) };
  await expect(ask("https://api.test/", gone)).rejects.toThrow(/host not found/);
  await expect(ask("http://127.0.0.1:9/", { environment })).rejects.toThrow(/connection refused/);
  expect(proxy.passed).toEqual([]);
});

test("a proxy that refuses, is missing or is of another kind is named without its password", async () => {
  const proxy = await startProxy(0, "407 Proxy Authentication Required");
  const failing = [
    [`http://me:s3cret@${proxy.place}`, /the proxy http:\/\/127\.0\.0\.1:\d+ \(HTTPS_PROXY\) answered 407 Proxy Auth/],
    [
      "http://me:s3cret@127.0.0.1:9",
      /the proxy http:\/\/127\.0\.0\.1:9 \(HTTPS_PROXY\) could not be reached \(ECONNREF/,
    ],
    ["socks5://me:s3cret@127.0.0.1:9", /socks5:\/\/ proxies are not supported/],
  ] as const;
  for (const [HTTPS_PROXY, says] of failing) {
    const asked = ask("https://api.test/", { environment: { HTTPS_PROXY } });
    await expect(asked).rejects.toThrow(says);
    await expect(asked).rejects.not.toThrow(/s3cret/);
  }
});
