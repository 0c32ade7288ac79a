/** What a method was called with: from the address, a form or JSON. */
import type { IncomingHttpHeaders } from "node:http";
import { badRequest } from "./refusal.ts";

interface UploadedFile {
  readonly name: string;
  readonly type: string;
  readonly content: Buffer;
}

export interface Parameters {
  readonly values: Readonly<Record<string, unknown>>;
  readonly files: ReadonlyMap<string, UploadedFile>;
}

const NO_FILES: ReadonlyMap<string, UploadedFile> = new Map();

export function readParameters(query: URLSearchParams, headers: IncomingHttpHeaders, body: Buffer): Parameters {
  const type = headers["content-type"] ?? "";
  const fromQuery = Object.fromEntries(query);
  if (body.length === 0) return { values: fromQuery, files: NO_FILES };
  if (type.startsWith("multipart/form-data")) {
    const form = readMultipart(body, type);
    return { values: { ...fromQuery, ...form.values }, files: form.files };
  }
  if (type.startsWith("application/json")) return { values: { ...fromQuery, ...readJsonBody(body) }, files: NO_FILES };
  return { values: { ...fromQuery, ...Object.fromEntries(new URLSearchParams(body.toString())) }, files: NO_FILES };
}

function readJsonBody(body: Buffer): Readonly<Record<string, unknown>> {
  const value = parseJson(body.toString());
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badRequest("can't parse request JSON object");
  return value as Readonly<Record<string, unknown>>;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What is an object or a list comes as such in JSON, and as the text of it in a form. */
export function objectOf({ values }: Parameters, name: string): unknown {
  const value = values[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") return value;
  const parsed = parseJson(value);
  if (parsed === undefined) throw badRequest(`can't parse ${name.replaceAll("_", " ")} JSON object`);
  return parsed;
}

/** Half of a surrogate pair cannot be written in UTF-8, and JSON can hold one: `"\ud83d"`. */
export function textOf({ values }: Parameters, name: string): string {
  const value = values[name];
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") return JSON.stringify(value);
  if (!value.isWellFormed()) throw badRequest("strings must be encoded in UTF-8");
  return value;
}

export function numberOf(parameters: Parameters, name: string, otherwise: number): number {
  const text = textOf(parameters, name);
  const value = Number(text);
  return text === "" || !Number.isSafeInteger(value) ? otherwise : value;
}

export function isTrue(parameters: Parameters, name: string): boolean {
  return ["true", "1", "yes"].includes(textOf(parameters, name).toLowerCase());
}

function readMultipart(
  body: Buffer,
  type: string,
): { values: Record<string, string>; files: Map<string, UploadedFile> } {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw badRequest("boundary is not specified in the Content-Type");
  const values: Record<string, string> = {};
  const files = new Map<string, UploadedFile>();
  for (const part of partsOf(body, Buffer.from(`\r\n--${boundary}`))) {
    const split = part.indexOf("\r\n\r\n");
    if (split === -1) throw badRequest("can't parse multipart request");
    const header = part.subarray(0, split).toString();
    const content = part.subarray(split + 4);
    const name = /\bname="([^"]*)"/.exec(header)?.[1] ?? "";
    const file = fileNameOf(header);
    if (file === undefined) values[name] = content.toString();
    else
      files.set(name, {
        name: file,
        type: /^content-type: *(\S+)/im.exec(header)?.[1] ?? "application/octet-stream",
        content: Buffer.from(content),
      });
  }
  return { values, files };
}

/** Some clients put it in quotes, some do not. */
function fileNameOf(header: string): string | undefined {
  const [, quoted, plain] = /;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^;\r\n]*))/i.exec(header) ?? [];
  return quoted?.replaceAll(/\\(.)/g, "$1") ?? plain;
}

function* partsOf(body: Buffer, mark: Buffer): Generator<Buffer> {
  const whole = Buffer.concat([Buffer.from("\r\n"), body]);
  let at = whole.indexOf(mark);
  if (at === -1) throw badRequest("can't parse multipart request");
  for (;;) {
    const from = at + mark.length;
    if (whole.subarray(from, from + 2).toString() === "--") return;
    const to = whole.indexOf(mark, from);
    if (to === -1) throw badRequest("can't parse multipart request: unexpected end");
    yield whole.subarray(from + 2, to);
    at = to;
  }
}
