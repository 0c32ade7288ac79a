import type { FoundLine, TextQuery } from "../../contract/search.ts";
import { ToolError } from "../../protocol/errors.ts";
import { procPath } from "../files/handle.ts";
import { startEngine } from "../processes/engine.ts";
import type { EngineEnd } from "../processes/engine.ts";
import { hintOf } from "./accelerate.ts";
import { rgTextArguments } from "./arguments.ts";
import { complaintsOf } from "./complaints.ts";
import { FileContent } from "./file-content.ts";
import { decodeKey, orderOf } from "./keys.ts";
import { linesOf } from "./lines.ts";
import { walkOf } from "./place.ts";
import type { SearchPlace } from "./place.ts";
import { MessageReader } from "./rg-messages.ts";
import type { LineMessage } from "./rg-messages.ts";
import { VerifiedTree } from "./verified-tree.ts";
import type { TreeOptions } from "./verified-tree.ts";

export interface TextOptions extends Pick<TreeOptions, "workspace" | "judgeBelow"> {
  readonly rg: string;
  readonly signal: AbortSignal;
}

/** The lines that match in a folder or a file. Holds one block of one file at a time. */
export async function* searchText(
  place: SearchPlace,
  query: TextQuery,
  { rg, signal, ...options }: TextOptions,
): AsyncGenerator<FoundLine> {
  const isFolder = place.kind === "folder";
  const walk = isFolder ? walkOf(place.real, options.workspace) : "stdin";
  const hint = query.glob === undefined ? undefined : hintOf(query.glob.pattern);
  const engine = startEngine({
    program: rg,
    args: rgTextArguments(query, walk, hint),
    cwd: isFolder ? procPath(place.fd) : "/",
    ...(isFolder ? {} : { stdin: place.fd }),
    signal,
  });
  const tree = new VerifiedTree({ top: place.real, ...options });
  const files = isFolder ? new FoundFiles(tree, query) : new OnlyFile(place.fd, query);
  const reader = new MessageReader();
  let summary = false;
  try {
    for await (const piece of engine.output) {
      for (const message of reader.push(piece)) {
        if (message.type === "summary") summary = true;
        else yield* files.linesOf(message);
      }
    }
    const end = await engine.ended;
    signal.throwIfAborted();
    if (!summary) throw refusalOf(end, query);
    for (const complaint of complaintsOf(end.stderr, tree)) query.onComplaint(complaint);
  } finally {
    files.close();
    await engine.stop();
  }
}

const NO_LINES: readonly FoundLine[] = [];

/** Files of a folder, in path order: each is opened and verified when the first message names it. */
class FoundFiles {
  readonly #tree: VerifiedTree;
  readonly #query: TextQuery;
  readonly #after: string;
  readonly #block = FileContent.makeBlock();
  #path: string | undefined;
  #content: FileContent | undefined;

  constructor(tree: VerifiedTree, query: TextQuery) {
    this.#tree = tree;
    this.#query = query;
    this.#after = orderOf(query.after?.key ?? "");
  }

  linesOf(message: LineMessage): Iterable<FoundLine> {
    const key = message.key.startsWith("./") ? message.key.slice(2) : message.key;
    if (key !== this.#path) {
      this.close();
      this.#path = key;
      this.#content = this.#open(key);
    }
    if (this.#content === undefined) return NO_LINES;
    const after = this.#query.after?.key === key ? this.#query.after.line : 0;
    return linesOf(message, this.#content, { path: decodeKey(key), key, after, isVerified: false });
  }

  close(): void {
    this.#content?.close();
    this.#content = undefined;
  }

  #open(key: string): FileContent | undefined {
    const { glob, after } = this.#query;
    if (after !== undefined && orderOf(key) < this.#after) return undefined;
    if (glob !== undefined && !glob.matches(decodeKey(key))) return undefined;
    if (this.#tree.judge(key) !== "open") return undefined;
    const fd = this.#tree.openFile(key);
    return fd === undefined ? undefined : new FileContent(fd, this.#block);
  }
}

/** One file, which rg reads from the very descriptor that was verified. */
class OnlyFile {
  readonly #content: FileContent;
  readonly #after: number;
  #isTold = false;

  constructor(fd: number, { after }: TextQuery) {
    this.#content = new FileContent(fd, FileContent.makeBlock());
    this.#after = after?.line ?? 0;
  }

  linesOf(message: LineMessage): Iterable<FoundLine> {
    if (this.#isTold) return NO_LINES;
    const { line } = message;
    if (this.#content.isBinary) {
      this.#isTold = true;
      if (this.#after > 0) return NO_LINES;
      return [{ path: "", key: "", line, is_match: true, text: "", cut_before: 0, cut_after: 0, binary: true }];
    }
    return linesOf(message, this.#content, { path: "", key: "", after: this.#after, isVerified: true });
  }

  close(): void {} // the descriptor is the caller's
}

const MAX_EXPLANATION = 600;

/** Why rg did not search at all. */
function refusalOf({ code, signal, stderr }: EngineEnd, { pattern, type }: TextQuery): ToolError {
  if (code !== 2) {
    return new ToolError("IOError", `Cannot search: ripgrep ended before its time (${signal ?? code})`, {
      reason: signal ?? code,
    });
  }
  const said = stderr.replace(/^rg: /, "").trim().slice(0, MAX_EXPLANATION);
  if (said.startsWith("unrecognized file type")) {
    const message = `Cannot search files of the type ${JSON.stringify(type)}: ripgrep knows no such type`;
    return new ToolError("InvalidArguments", message, { field: "type" });
  }
  const short = /^error: (.*)/m.exec(said)?.[1] ?? said.split("\n", 1)[0];
  const shown = JSON.stringify(pattern.length > 100 ? `${pattern.slice(0, 100)}…` : pattern);
  const advice = said.includes("--multiline") ? "set multiline" : String.raw`a "\" makes the next character literal`;
  return new ToolError("InvalidArguments", `Cannot search for ${shown}: ${short}; ${advice}`, {
    field: "pattern",
    explanation: said,
  });
}
