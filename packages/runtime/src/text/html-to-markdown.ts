import type TurndownService from "turndown";
import { HtmlWriter, words } from "./html-writer.ts";
import type { Segment, WriterOptions } from "./html-writer.ts";

interface Converted {
  readonly text: string;
  readonly truncated: boolean;
}

interface ConvertOptions {
  readonly base: string;
  readonly to: "markdown" | "text";
  readonly signal: AbortSignal;
}

/** Maximum size of the converted part of a page. */
const LIMIT = 524_288;

/** Converts a page to Markdown, or to plain text without links and emphasis. Scripts and styles are dropped. */
export async function convertHtml(page: string, { base, to, signal }: ConvertOptions): Promise<Converted> {
  const isMarkdown = to === "markdown";
  const { segments, truncated } = simplifyHtml(page, { base, limit: LIMIT, inline: isMarkdown });
  // Lazy: it is large, and most processes never fetch a page.
  const { default: Turndown } = await import("turndown");
  const service = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-", hr: "---" });
  addTableRules(service);
  if (!isMarkdown) makePlain(service);
  const parts: string[] = [];
  for (const { html, goes_on } of segments) {
    signal.throwIfAborted();
    const text = service.turndown(html).trim();
    if (text !== "") parts.push(text, goes_on ? "\n" : "\n\n");
    // Yields to other work.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { text: `${parts.slice(0, -1).join("")}\n`, truncated };
}

/** Table rows in Markdown. A cell with several paragraphs is page layout and not treated as a table. */
function addTableRules(service: TurndownService): void {
  service.addRule("cell", {
    filter: ["td", "th"],
    replacement(content) {
      const text = content.trim();
      const isLayout = text.includes("\n") || text.startsWith("|");
      return isLayout ? `\n\n${text}\n\n` : `| ${text.replaceAll("|", "\\|")} `;
    },
  });
  service.addRule("row", {
    filter: "tr",
    replacement(content, node) {
      const text = content.trim();
      if (text === "" || text.includes("\n")) return `\n\n${text}\n\n`;
      const isHead = node.firstChild?.nodeName === "TH" && node.lastChild?.nodeName === "TH";
      return `\n${text} |${isHead ? `\n|${" --- |".repeat(node.childNodes.length)}` : ""}`;
    },
  });
  service.addRule("rows", { filter: ["thead", "tbody", "tfoot"], replacement: (content) => content });
}

/** No heading marks, and no escaping of text that looks like marks. */
function makePlain(service: TurndownService): void {
  service.escape = (text) => text;
  service.addRule("heading", {
    filter: ["h1", "h2", "h3", "h4", "h5", "h6"],
    replacement: (content) => `\n\n${content}\n\n`,
  });
}

interface Simplified {
  readonly segments: readonly Segment[];
  /** The page exceeded the limit. */
  readonly truncated: boolean;
}

/** Dropped with their content. */
const DROPPED = words(
  "script style noscript template svg math iframe object canvas select textarea xmp noembed noframes",
);
/** An unclosed one of these swallows the rest, as in browsers. The others may end anywhere. */
const RAW = words("script style textarea xmp");

const TAG = /<(\/?)([a-zA-Z][^\s/>]*)/y;
const ATTRIBUTE = /[\s/]*([^\s/>=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)))?/y;

/**
 * Reduces a page to few well-nested elements: no scripts, no styles, no attributes except the targets of links and
 * images. Linear in the page, and so is reading the result segment by segment: nesting depth and number of siblings are
 * limited.
 */
export function simplifyHtml(page: string, options: WriterOptions): Simplified {
  const writer = new HtmlWriter(options);
  const unending = new Set<string>();
  let at = 0;
  while (at < page.length && !writer.isFull) {
    const open = page.indexOf("<", at);
    writer.text(page.slice(at, open < 0 ? page.length : open));
    if (open < 0) break;
    at = readMarkup(page, open, { writer, unending });
  }
  return { segments: writer.end(), truncated: writer.isFull };
}

interface Reading {
  readonly writer: HtmlWriter;
  /** Names without a further end tag: not searched again. */
  readonly unending: Set<string>;
}

/** Reads markup that starts with "<" and returns its end. */
function readMarkup(page: string, open: number, { writer, unending }: Reading): number {
  if (page.startsWith("<!--", open)) return after(page, "-->", open + 4);
  TAG.lastIndex = open;
  const [tag = "", slash, written = ""] = TAG.exec(page) ?? [];
  if (tag === "") {
    if (/[!?/]/.test(page.charAt(open + 1))) return after(page, ">", open + 1);
    writer.text("&lt;");
    return open + 1;
  }
  const name = written.toLowerCase();
  if (slash === "/") {
    writer.close(name);
    return after(page, ">", open + tag.length);
  }
  const { attributes, end } = readAttributes(page, open + tag.length);
  if (name === "title") return readTitle(page, end, writer);
  if (DROPPED.has(name)) return skipElement(page, end, { name, unending });
  writer.open(name, attributes);
  return end;
}

function after(page: string, mark: string, from: number): number {
  const found = page.indexOf(mark, from);
  return found < 0 ? page.length : found + mark.length;
}

/** Only those that are used: a tag may have any number. */
const KEPT_ATTRIBUTES = words("href src alt start class");

function readAttributes(page: string, from: number): { attributes: ReadonlyMap<string, string>; end: number } {
  const attributes = new Map<string, string>();
  for (let at = from; ;) {
    ATTRIBUTE.lastIndex = at;
    const match = ATTRIBUTE.exec(page);
    if (match === null) return { attributes, end: after(page, ">", at) };
    const [whole, written = "", double, single, bare] = match;
    at += whole.length;
    const name = written.toLowerCase();
    if (KEPT_ATTRIBUTES.has(name) && !attributes.has(name)) attributes.set(name, double ?? single ?? bare ?? "");
  }
}

function readTitle(page: string, from: number, writer: HtmlWriter): number {
  const end = endTag(page, "title", from) ?? page.length;
  writer.open("p", NO_ATTRIBUTES);
  writer.text(page.slice(from, end).replaceAll("<", "&lt;"));
  writer.close("p");
  return after(page, ">", end);
}

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

function skipElement(page: string, from: number, { name, unending }: { name: string; unending: Set<string> }): number {
  const end = unending.has(name) ? undefined : endTag(page, name, from);
  if (end !== undefined) return after(page, ">", end);
  if (RAW.has(name)) return page.length;
  unending.add(name);
  return from;
}

function endTag(page: string, name: string, from: number): number | undefined {
  const pattern = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  pattern.lastIndex = from;
  return pattern.exec(page)?.index;
}
