import type { ToolCallResult } from "@autonous/runtime";
import type { Verdict } from "./verdict.ts";
import { inWorkspace } from "./workspace.ts";
import type { Workspace } from "./workspace.ts";

interface TruncationCase {
  readonly id: string;
  readonly name: string;
  readonly input: { readonly text: string; readonly maxLines: number; readonly maxBytes: number };
}

/** `truncation.json`: what a page of `read` holds under both limits, and that the pages together are the text. */
export async function* runTruncation(document: unknown): AsyncIterable<Verdict> {
  const { cases } = document as { readonly cases: readonly TruncationCase[] };
  for (const { id, name, input } of cases) {
    const { text, maxLines, maxBytes } = input;
    const limits = { lines: maxLines, bytes: maxBytes };
    const differs = await inWorkspace({ "f.txt": text }, { limits }, async (workspace) => {
      if (!workspace.has("read")) return "no tool";
      const pages = await readPages(workspace);
      const fault = faultOf(pages, { text, maxLines, maxBytes });
      return fault === undefined ? undefined : { expected: "the invariants of the file", got: fault };
    });
    if (differs === "no tool") yield { id, name, missing: "read" };
    else yield { id, name, ...(differs === undefined ? {} : { differs }) };
  }
}

async function readPages({ call }: Workspace): Promise<ToolCallResult[]> {
  const pages: ToolCallResult[] = [];
  let cursor: string | undefined;
  do {
    const page = await call("read", { path: "f.txt", ...(cursor === undefined ? {} : { cursor }) });
    pages.push(page);
    cursor = page.payload?.next_page_cursor;
  } while (cursor !== undefined);
  return pages;
}

function faultOf(pages: readonly ToolCallResult[], input: TruncationCase["input"]): string | undefined {
  const whole = input.text.toWellFormed().replace(/^\ufeff/, "");
  const texts = pages.map((page) => page.payload?.stdout ?? "");
  for (const [index, { ok, error, payload }] of pages.entries()) {
    const text = texts[index] ?? "";
    const isCut = payload?.truncated_lines === true || payload?.truncated_bytes === true;
    if (!ok) return `page ${index + 1} failed: ${error?.message}`;
    if (Buffer.byteLength(text) > input.maxBytes) return `page ${index + 1} has ${Buffer.byteLength(text)} bytes`;
    if (linesOf(text) > input.maxLines) return `page ${index + 1} has ${linesOf(text)} lines`;
    if (!text.isWellFormed() || (text.includes("\ufffd") && !whole.includes("\ufffd"))) return "a character was cut";
    if (index === 0 && !isCut && text !== whole) return `not said to be cut, but is ${JSON.stringify(text)}`;
  }
  return texts.join("") === whole ? undefined : `the pages together are ${JSON.stringify(texts.join(""))}`;
}

function linesOf(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}
