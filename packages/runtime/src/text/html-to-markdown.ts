import type TurndownService from "turndown";
import { simplifyHtml } from "./simplify-html.ts";

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
