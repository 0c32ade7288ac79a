import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { makeCertificate } from "../../../../../test/support/certificate.ts";
import { FORMATS, KEY } from "../../../../../test/support/model-events.ts";
import { startModelServer, stream } from "../../../../../test/support/model-server.ts";
import { createProvider } from "../choose.ts";
import { failureReason } from "../failures/model-failure.ts";
import type { ModelReply } from "../provider.ts";

const HELLO = stream(FORMATS["compatible"]?.answer("Hello.") ?? []);

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

interface ProxiedRequest {
  readonly method: string;
  readonly target: string;
  readonly authorization: string | undefined;
  readonly key: string | undefined;
}

/** A proxy that forwards everything to one local port, whatever host is requested. */
async function startProxy(
  port: number,
  { needs = "" } = {},
): Promise<{ url: string; passed: readonly ProxiedRequest[] }> {
  const passed: ProxiedRequest[] = [];
  const remember = (request: IncomingMessage): boolean => {
    const { method = "", url = "", headers } = request;
    const authorization = headers["proxy-authorization"];
    passed.push({ method, target: url, authorization, key: headers.authorization });
    return needs === "" || authorization === `Basic ${Buffer.from(needs).toString("base64")}`;
  };
  const proxy = createServer((request, response) => {
    if (!remember(request)) return void response.writeHead(407).end("log in first");
    HELLO(response, { path: "", headers: {}, body: {} });
  });
  proxy.on("connect", (request: IncomingMessage, socket) => {
    socket.on("error", () => socket.destroy());
    if (!remember(request)) return void socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    onTestFinished(() => void onward.destroy());
  });
  return { url: `127.0.0.1:${await listen(proxy)}`, passed };
}

async function ask(server: string, environment: Record<string, string>): Promise<ModelReply> {
  const provider = await createProvider(`compatible:m@${server}`, { ...environment, AUTONOUS_COMPATIBLE_API_KEY: KEY });
  const request = { system: "", messages: [{ role: "user", text: "Hi." }], rounds: 0, tools: [] } as const;
  return await provider.complete(request, { signal: new AbortController().signal, patience_ms: 0 });
}

test("a plain request goes through HTTP_PROXY with the proxy's password, and the key to the server only", async () => {
  const proxy = await startProxy(0, { needs: "me:s3 cret" });
  const reply = await ask("http://model.test/v1", { HTTP_PROXY: `http://me:s3%20cret@${proxy.url}` });
  expect(reply.text).toBe("Hello.");
  expect(proxy.passed.map(({ method, target, key }) => [method, target, key])).toEqual([
    ["POST", "http://model.test/v1/chat/completions", `Bearer ${KEY}`],
  ]);
});

test("an https request goes through a tunnel, and the proxy sees neither the key nor the content", async () => {
  const { key, cert } = makeCertificate("model.test");
  setDefaultCACertificates([...getCACertificates("default"), cert]);
  onTestFinished(() => setDefaultCACertificates(getCACertificates("bundled")));
  const secure = createSecureServer({ key, cert }, (request, response) => {
    request.resume();
    HELLO(response, { path: "", headers: {}, body: {} });
  });
  const proxy = await startProxy(await listen(secure), { needs: "me:s3cret" });
  onTestFinished(() => secure.closeAllConnections());
  for (const variable of ["https_proxy", "ALL_PROXY"]) {
    const reply = await ask("https://model.test/v1", { [variable]: `http://me:s3cret@${proxy.url}` });
    expect(reply.text).toBe("Hello.");
  }
  expect(new Set(proxy.passed.map(({ method, target, key: seen }) => `${method} ${target} ${seen}`))).toEqual(
    new Set(["CONNECT model.test:443 undefined"]),
  );
});

test("a server on this machine, or one that NO_PROXY lists, is contacted directly", async () => {
  const proxy = await startProxy(0);
  const server = await startModelServer([HELLO]);
  expect(
    (await ask(`${server.url}/v1`, { HTTP_PROXY: `http://${proxy.url}`, ALL_PROXY: `http://${proxy.url}` })).text,
  ).toBe("Hello.");
  const asking = ask("http://model.invalid/v1", { HTTP_PROXY: `http://${proxy.url}`, NO_PROXY: ".invalid" });
  await expect(asking).rejects.toThrow("the connection to model.invalid failed");
  expect(proxy.passed).toEqual([]);
});

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  server.close();
  await once(server, "close");
  return port;
}

// oxfmt-ignore
const BROKEN = [
  { title: "that is not there, for http",          server: "http://model.test/v1",  isUp: false, says: (url: string) => `the connection to model.test through the proxy http://${url} (ALL_PROXY) failed (ECONNREFUSED)` },
  { title: "that is not there, for https",         server: "https://model.test/v1", isUp: false, says: (url: string) => `the connection to model.test through the proxy http://${url} (ALL_PROXY) failed (ECONNREFUSED)` },
  { title: "that wants another password, http",    server: "http://model.test/v1",  isUp: true,  says: () => "407 log in first" },
  { title: "that wants another password, https",   server: "https://model.test/v1", isUp: true,  says: (url: string) => `the proxy http://${url} (ALL_PROXY) does not connect to model.test: 407 Proxy Authentication Required` },
] as const;

for (const { title, server, isUp, says } of BROKEN) {
  test(`a proxy ${title} is named in the error, without its password`, async () => {
    const { url } = isUp ? await startProxy(0, { needs: "me:right" }) : { url: `127.0.0.1:${await freePort()}` };
    const error: unknown = await ask(server, { ALL_PROXY: `http://me:s3cret@${url}` }).catch(
      (thrown: unknown) => thrown,
    );
    expect(failureReason(error)).toBe("proxy");
    expect((error as Error).message).toContain(says(url));
    expect(JSON.stringify([(error as Error).message, error])).not.toContain("s3cret");
  });
}

test("an unsupported kind of proxy is rejected before any request", async () => {
  const asking = ask("https://model.test/v1", { ALL_PROXY: "socks5://me:s3cret@127.0.0.1:1080" });
  await expect(asking).rejects.toThrow("Cannot use the proxy in ALL_PROXY: socks5:// proxies are not supported");
});
