import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { InputFile } from "grammy";
import { makeCertificate } from "../../../../../../test/support/certificate.ts";
import { scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import { TelegramClient } from "./client.ts";
import { downloadFile } from "./download.ts";

const TOKEN = "1234:secret-token";

afterEach(() => vi.unstubAllEnvs());

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A Bot API with a certificate for `telegram.test`, which nothing but a proxy can reach by that name. */
async function startApi(): Promise<{ readonly port: number; readonly seen: string[] }> {
  const seen: string[] = [];
  const { key, cert } = makeCertificate("telegram.test");
  setDefaultCACertificates([...getCACertificates("default"), cert]);
  onTestFinished(() => setDefaultCACertificates(getCACertificates("bundled")));
  const server = createSecureServer({ key, cert }, (request, response) => {
    void answer(request).then((body) => response.writeHead(200).end(body));
  });
  const answer = async (request: IncomingMessage): Promise<string | Buffer> => {
    let bytes = 0;
    for await (const piece of request as AsyncIterable<Buffer>) bytes += piece.length;
    const { url = "" } = request;
    seen.push(`${url} ${bytes > 1000 ? "large" : "small"}`);
    if (url.startsWith("/file/")) return Buffer.alloc(70_000, "x");
    const result = url.endsWith("/getFile") ? { file_id: "f", file_path: "a/b.txt" } : { message_id: 1 };
    return JSON.stringify({ ok: true, result });
  };
  onTestFinished(() => server.closeAllConnections());
  return { port: await listen(server), seen };
}

interface Proxy {
  readonly url: string;
  readonly passed: string[];
}

async function startProxy(port: number, { needs = "" } = {}): Promise<Proxy> {
  const passed: string[] = [];
  const proxy = createServer((request, response) => {
    passed.push(`${request.method} ${request.url}`);
    response.writeHead(502).end();
  });
  proxy.on("connect", ({ url = "", headers }: IncomingMessage, socket) => {
    socket.on("error", () => socket.destroy());
    passed.push(`CONNECT ${url}`);
    const isKnown = needs === "" || headers["proxy-authorization"] === `Basic ${Buffer.from(needs).toString("base64")}`;
    if (!isKnown) return void socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    onTestFinished(() => void onward.destroy());
  });
  return { url: `127.0.0.1:${await listen(proxy)}`, passed };
}

function openClient(api_root = "https://telegram.test"): TelegramClient {
  const client = new TelegramClient({ token: TOKEN, api_root, log: () => undefined });
  onTestFinished(() => client.close(0));
  return client;
}

test("calls, uploads and downloads go through a tunnel of HTTPS_PROXY, which does not see the token", async () => {
  const api = await startApi();
  const proxy = await startProxy(api.port, { needs: "me:s3 cret" });
  vi.stubEnv("https_proxy", "");
  vi.stubEnv("HTTPS_PROXY", `http://me:s3%20cret@${proxy.url}`);
  const client = openClient();
  await client.call((each, signal) => each.getMe(signal));
  await client.call((each, signal) => each.sendDocument(7, new InputFile(Buffer.alloc(50_000), "a.bin"), {}, signal));
  const pieces: Uint8Array[] = [];
  const stopped = new AbortController().signal;
  await downloadFile(client, "f", { limit_bytes: 100_000, stopped, write: (piece) => void pieces.push(piece) });
  expect(Buffer.concat(pieces).length).toBe(70_000);
  expect(api.seen).toEqual([
    `/bot${TOKEN}/getMe small`,
    `/bot${TOKEN}/sendDocument large`,
    `/bot${TOKEN}/getFile small`,
    `/file/bot${TOKEN}/a/b.txt small`,
  ]);
  expect(new Set(proxy.passed)).toEqual(new Set(["CONNECT telegram.test:443"]));
});

// oxfmt-ignore
const BROKEN = [
  { title: "that wants another password", value: (url: string) => `http://me:s3cret@${url}`,        says: /407 Proxy Authentication Required, via the proxy http:\/\/127\.0\.0\.1:\d+ from ALL_PROXY/ },
  { title: "that is not there",           value: () => "http://me:s3cret@127.0.0.1:9",              says: /ECONNREFUSED, via the proxy http:\/\/127\.0\.0\.1:9 from ALL_PROXY/ },
  { title: "of another kind",             value: () => "socks5://me:s3cret@127.0.0.1:9",            says: /Cannot use the proxy in ALL_PROXY: socks5:\/\/ proxies are not supported/ },
] as const;

for (const { title, value, says } of BROKEN) {
  test(`a proxy ${title} is named in the failure, without password and token`, async () => {
    const proxy = await startProxy(0, { needs: "x:y" });
    for (const name of ["https_proxy", "HTTPS_PROXY", "all_proxy"]) vi.stubEnv(name, "");
    vi.stubEnv("ALL_PROXY", value(proxy.url));
    const failing = openClient().call((api, signal) => api.getMe(signal));
    await expect(failing).rejects.toMatchObject({
      kind: "unreachable",
      message: expect.stringMatching(says) as string,
    });
    await expect(failing).rejects.not.toThrow(/s3cret|secret-token/);
  });
}

test("a server on this machine, one of NO_PROXY, and one without TLS are asked directly", async () => {
  const proxy = await startProxy(0);
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]) vi.stubEnv(name, `http://${proxy.url}`);
  vi.stubEnv("NO_PROXY", ".invalid");
  const { telegram } = await scratchPlace();
  const here = new TelegramClient({ token: telegram.token, api_root: telegram.url, log: () => undefined });
  onTestFinished(() => here.close(0));
  await here.call((api, signal) => api.getMe(signal));
  for (const root of ["https://telegram.invalid", "http://telegram.invalid"])
    await expect(openClient(root).call((api, signal) => api.getMe(signal))).rejects.toThrow(/ENOTFOUND|EAI_AGAIN/);
  expect(proxy.passed).toEqual([]);
});
