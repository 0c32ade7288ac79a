import { createHash } from "node:crypto";
import { z } from "zod";
import type { NetworkResponse } from "../contract/network.ts";
import { defineTool } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { decodeResponse, isHtml } from "../text/response-text.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
const FORMATS = ["text", "markdown", "raw"] as const;

const DEFAULT_BYTES = 1_048_576;
const MAX_BYTES = 10_485_760;
/** Shorter than the timeout of a call, so that the network layer reports the reason. */
const TIMEOUT_MS = 25_000;

const args = () =>
  z
    .strictObject({
      url: z.string().min(1).describe("Full URL; its host must be on the network allowlist"),
      method: z.enum(METHODS).default("GET"),
      headers: z.record(z.string(), z.string()).default({}).describe("Request headers"),
      body: z.string().max(MAX_BYTES).optional().describe("Sent as UTF-8"),
      max_bytes: z.int().min(1).max(MAX_BYTES).default(DEFAULT_BYTES).describe("Maximum bytes of the body to read"),
      format: z.enum(FORMATS).optional().describe("Output format: markdown (default for HTML), text or raw"),
    })
    .superRefine(({ method, body }, { addIssue }) => {
      if (body === undefined || (method !== "GET" && method !== "HEAD")) return;
      addIssue({ code: "custom", path: ["body"], message: `a ${method} request has no body; set method` });
    });
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    url: z.string().describe("Final URL of the response"),
    redirects: z.array(z.string()).describe("URLs that redirected to it"),
    status: z.int(),
    status_text: z.string(),
    headers: z.record(z.string(), z.string()),
    media_type: z.string(),
    charset: z.string().nullable(),
    format: z.enum(FORMATS).nullable().describe("Format of the body in the output; null if it is not text"),
    bytes: z.int().describe("Bytes of the body that were read"),
    sha256: z.string().describe("SHA-256 of those bytes"),
    truncated: z.boolean(),
  });

export const networkRequest = defineTool({
  name: "network_request",
  version: "1.0.0",
  description:
    "Make one HTTP request to a host on the network allowlist. HTML is converted to Markdown. A response with any status is a result; check status.",
  args,
  returns,
  aliases: [{ name: "fetch", adapt: adaptFetch }],
  required_permissions: ["net.connect"],
  side_effects: ["network"],
  destructive: true,
  risk: "high",
  touches: ({ url }) => [{ address: url }],
  permission_class: "webfetch",
  audit_operation: "invoke",
  search_hint: "http https web fetch url download page api request",

  async execute(given, { network, signal }) {
    const { url, method, headers, body, max_bytes } = given;
    const response = await network.request({
      url,
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      max_bytes,
      timeout_ms: TIMEOUT_MS,
    });
    const shown = await show(response, given.format, signal);
    const { status, status_text } = response;
    const notes = [...notesOn(response, given), ...shown.notes];
    return {
      data: {
        url: response.url,
        redirects: [...response.redirects],
        status,
        status_text,
        headers: { ...response.headers },
        media_type: shown.media_type,
        charset: shown.charset ?? null,
        format: shown.format ?? null,
        bytes: response.body.length,
        sha256: createHash("sha256").update(response.body).digest("hex"),
        truncated: response.truncated,
      },
      stdout: shown.text,
      stderr: notes.map((note) => `${makeVisible(note)}\n`).join(""),
      truncated_bytes: response.truncated || shown.truncated,
    };
  },
});

interface ResponseView {
  readonly text: string;
  readonly media_type: string;
  readonly charset?: string | undefined;
  readonly format?: Args["format"];
  readonly truncated: boolean;
  readonly notes: readonly string[];
}

async function show(response: NetworkResponse, wanted: Args["format"], signal: AbortSignal): Promise<ResponseView> {
  const { url, headers, body, encoding } = response;
  const { media_type, text, charset } = decodeResponse(body, headers["content-type"]);
  if (encoding !== undefined || text === undefined) {
    const what = encoding === undefined ? media_type : `${media_type}, encoded as "${encoding}"`;
    const notes = body.length === 0 ? [] : [`The body is not text (${what}, ${body.length} bytes) and is not shown`];
    return { text: "", media_type, truncated: false, notes };
  }
  const format = wanted ?? (isHtml(media_type) ? "markdown" : "raw");
  if (format === "raw" || !isHtml(media_type))
    return { text, media_type, charset, format: "raw", truncated: false, notes: [] };
  const { convertHtml } = await import("../text/html-to-markdown.ts"); // pages are seldom requested
  const converted = await convertHtml(text, { base: url, to: format, signal });
  const notes = converted.truncated ? ["The page is too long to convert; its end was truncated"] : [];
  return { text: converted.text, media_type, charset, format, truncated: converted.truncated, notes };
}

function notesOn({ url, status, status_text, redirects, truncated }: NetworkResponse, given: Args): readonly string[] {
  const notes: string[] = [];
  if (status >= 400) notes.push(`The server responded with ${status} ${status_text}`.trim());
  if (redirects.length > 0) notes.push(`The request was redirected to ${url}`);
  if (truncated) notes.push(`The body is longer than ${given.max_bytes} bytes; the rest was not read`);
  return notes;
}

/** Names that other clients use for the same tool. */
function adaptFetch({
  max_length,
  raw,
  prompt: _prompt,
  ...rest
}: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return {
    ...(max_length === undefined ? {} : { max_bytes: max_length }),
    ...(raw === true ? { format: "raw" } : {}),
    ...rest,
  };
}
