import { recogniseContent } from "./kinds.ts";

interface ResponseText {
  readonly media_type: string;
  /** Undefined if the body is not text. */
  readonly text: string | undefined;
  readonly charset: string | undefined;
}

const TEXTUAL =
  /^text\/|[/+](?:json|xml|yaml|javascript|ecmascript|x-www-form-urlencoded|x-ndjson|x-sh|toml|graphql|sql)$/;
const HTML = /^(?:text\/html|application\/xhtml\+xml)$/;

export function isHtml(media_type: string): boolean {
  return HTML.test(media_type);
}

/** Decodes the body by its byte order mark, the server's charset or the page's own declaration; else as UTF-8. */
export function decodeResponse(body: Uint8Array, contentType: string | undefined): ResponseText {
  const [type = "", ...parameters] = (contentType ?? "").split(";");
  const seen = recogniseContent(body);
  const media_type = type.trim().toLowerCase() || (looksLikeHtml(body) ? "text/html" : seen.media_type);
  const said = charsetOf(parameters) ?? (isHtml(media_type) ? charsetInPage(body) : undefined);
  const charset = markOf(body) ?? said ?? "utf-8";
  const isText =
    seen.kind === "text" || charset.startsWith("utf-16") || (TEXTUAL.test(media_type) && said !== undefined);
  if (!isText) return { media_type, text: undefined, charset: undefined };
  const decoder = decoderFor(charset) ?? new TextDecoder();
  return { media_type, text: decoder.decode(body), charset: decoder.encoding };
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}

function charsetOf(parameters: readonly string[]): string | undefined {
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=", 2);
    if (name.trim().toLowerCase() !== "charset") continue;
    const label = value
      .trim()
      .replaceAll(/^["']|["']$/g, "")
      .toLowerCase();
    if (decoderFor(label) !== undefined) return label;
  }
  return undefined;
}

/** As far as browsers look for it. */
const PRESCAN_BYTES = 1024;

function charsetInPage(body: Uint8Array): string | undefined {
  const start = Buffer.from(body.subarray(0, PRESCAN_BYTES)).toString("latin1");
  const label = /<meta\b[^>]{0,200}\bcharset\s{0,9}=\s{0,9}["']?\s{0,9}([\w-]{1,40})/i.exec(start)?.[1]?.toLowerCase();
  if (label === undefined || decoderFor(label) === undefined) return undefined;
  // The declaration was readable as ASCII, so it cannot be UTF-16.
  return label.startsWith("utf-16") ? "utf-8" : label;
}

function looksLikeHtml(body: Uint8Array): boolean {
  const start = Buffer.from(body.subarray(0, PRESCAN_BYTES)).toString("latin1").trimStart().toLowerCase();
  return start.startsWith("<!doctype html") || start.startsWith("<html");
}

/** Undefined for an unknown encoding name. */
function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
