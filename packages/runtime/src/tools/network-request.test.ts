import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import type { ToolContext } from "../contract/context.ts";
import type { ToolOutput } from "../contract/tool.ts";
import { createToolNetwork } from "../machine/network/fetch.ts";
import { networkRequest } from "./network-request.ts";

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The tool on a real network handle, its arguments and what it gives held to its schemas. */
async function call(
  given: Record<string, unknown>,
  allow: readonly string[],
): Promise<ToolOutput<Record<string, unknown>>> {
  const { signal } = new AbortController();
  const context: Pick<ToolContext, "signal" | "network"> = {
    signal,
    network: createToolNetwork({ allow, signal }),
  };
  const output = await networkRequest.execute(networkRequest.args.parse(given), context as ToolContext);
  return { ...output, data: networkRequest.returns.parse(output.data) };
}

test("a page comes as Markdown, with status and headers beside it", async () => {
  const host = await serve((_request, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", "set-cookie": "a=b" });
    response.end("<h1>Grüße</h1><script>x</script><p>See <a href=/more>more</a>");
  });
  const { data, stdout, stderr } = await call({ url: `http://${host}/a` }, [host]);
  expect(stdout).toBe(`# Grüße\n\nSee [more](http://${host}/more)\n`);
  expect(stderr).toBe("");
  expect(data).toMatchObject({
    status: 200,
    status_text: "OK",
    media_type: "text/html",
    charset: "utf-8",
    format: "markdown",
    truncated: false,
    redirects: [],
  });
  expect(data["headers"]).toMatchObject({ "set-cookie": "(1 cookie, not shown)" });
});

const PAGE = "<h1>A</h1><p><b>b</b>";

// oxfmt-ignore
const FORMATS = [
  ["markdown", "text/html",        "# A\n\n**b**\n", "markdown"],
  ["text",     "text/html",        "A\n\nb\n",       "text"],
  ["raw",      "text/html",        PAGE,             "raw"],
  ["markdown", "application/json", PAGE,             "raw"],
  [undefined,  "text/plain",       PAGE,             "raw"],
] as const;

test.each(FORMATS)("asked for %s, %s is given as it should", async (format, type, stdout, given) => {
  const host = await serve((_request, response) => response.writeHead(200, { "content-type": type }).end(PAGE));
  const output = await call({ url: `http://${host}/`, ...(format === undefined ? {} : { format }) }, [host]);
  expect(output.stdout).toBe(stdout);
  expect(output.data).toMatchObject({ format: given });
});

test("an answer that is an error, was sent on and is too long says so", async () => {
  const host = await serve(({ url }, response) => {
    if (url === "/") response.writeHead(302, { location: "/next" }).end();
    else response.writeHead(404, { "content-type": "text/plain" }).end("x".repeat(1000));
  });
  const { data, stdout, stderr, truncated_bytes } = await call({ url: `http://${host}/`, max_bytes: 10 }, [host]);
  expect(stdout).toBe("xxxxxxxxxx");
  expect(stderr).toBe(
    `The server responded with 404 Not Found\nThe request was redirected to http://${host}/next\nThe body is longer than 10 bytes; the rest was not read\n`,
  );
  expect(truncated_bytes).toBe(true);
  expect(data).toMatchObject({ status: 404, bytes: 10, truncated: true, redirects: [`http://${host}/`] });
});

test("a body that is not text is named and not shown", async () => {
  const host = await serve((_request, response) =>
    response.writeHead(200, { "content-type": "application/zip" }).end(gzipSync("x")),
  );
  const { data, stdout, stderr } = await call({ url: `http://${host}/`, format: "raw" }, [host]);
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^The body is not text \(application\/zip, \d+ bytes\) and is not shown\n$/);
  expect(data).toMatchObject({ format: null, charset: null, media_type: "application/zip" });
});

test("method, headers and body are sent as given", async () => {
  const host = await serve((request, response) => {
    request
      .on("data", (chunk: Buffer) =>
        response.write(`${request.method} ${String(request.headers["x-a"])} ${String(chunk)}`),
      )
      .on("end", () => response.end());
  });
  const { stdout } = await call({ url: `http://${host}/`, method: "PUT", headers: { "X-A": "1" }, body: "data" }, [
    host,
  ]);
  expect(stdout).toBe("PUT 1 data");
});

test.each([
  ["a body without a method that has one", { body: "x" }],
  ["a method that is none of HTTP's", { method: "CONNECT" }],
  ["more bytes than are ever read", { max_bytes: 1_000_000_000 }],
  ["a format that is none", { format: "html" }],
])("%s is refused by the schema", (_title, more) => {
  expect(networkRequest.args.safeParse({ url: "https://example.com/", ...more }).success).toBe(false);
});

test("the alias fetch takes the arguments that its callers send", () => {
  const adapt = networkRequest.aliases.find(({ name }) => name === "fetch")?.adapt;
  expect(adapt?.({ url: "https://example.com/", max_length: 500, raw: true, prompt: "sum it up" })).toEqual({
    url: "https://example.com/",
    max_bytes: 500,
    format: "raw",
  });
});

test("what an address is to the decision is said before it is reached", () => {
  expect(networkRequest.touches({ url: "https://example.com/" })).toEqual([{ address: "https://example.com/" }]);
});
