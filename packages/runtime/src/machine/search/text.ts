import type { SearchLine, TextQuery } from "../../contract/search.ts";
import { ToolError } from "../../protocol/errors.ts";
import { procPath } from "../system/handle.ts";
import { startEngine } from "../processes/engine.ts";
import type { EngineEnd } from "../processes/engine.ts";
import { hintOf } from "./accelerate.ts";
import { rgTextArguments } from "./arguments.ts";
import { readErrorsOf } from "./obstacles.ts";
import { FileContent } from "./file-content.ts";
import { decodeKey, orderOf } from "../system/keys.ts";
import { linesOf } from "./matched-lines.ts";
import { obstaclesIn } from "./obstacles.ts";
import { walkOf } from "./place.ts";
import type { SearchPlace } from "./place.ts";
import { MessageReader } from "./rg-messages.ts";
import type { LineMessage } from "./rg-messages.ts";
import { UnchangedFolders } from "./unchanged-folders.ts";
import { VerifiedTree } from "./verified-tree.ts";
import type { SnapshotOptions } from "./verified-tree.ts";

export interface TextOptions extends Pick<SnapshotOptions, "workspace" | "judgeBelow"> {
  readonly rg: string;
  readonly signal: AbortSignal;
}

/** The matching lines in a folder or file. Holds one block of one file at a time. */
export async function* searchText(
  place: SearchPlace,
  query: TextQuery,
  { rg, signal, ...options }: TextOptions,
): AsyncGenerator<SearchLine> {
  const isFolder = place.kind === "folder";
  const walk = isFolder ? walkOf(place.real, options.workspace) : "stdin";
  const hint = query.glob === undefined ? undefined : hintOf(query.glob.pattern);
  const still = new UnchangedFolders(place.fd);
  const tree = new VerifiedTree({ top: place.real, still, ...options });
  const engine = startEngine({
    program: rg,
    args: rgTextArguments(query, walk, hint),
    cwd: isFolder ? procPath(place.fd) : "/",
    ...(isFolder ? { findObstacle: obstaclesIn(place, { tree, signal }) } : { stdin: place.fd }),
    signal,
  });
  const files = isFolder ? new FoundFiles(tree, query) : new OnlyFile(place.fd, query);
  const reader = new MessageReader();
  let summary = false;
  try {
    for await (const piece of engine.output) {
      tree.forget();
      files.goOn();
      for (const message of reader.push(piece)) {
        if (message.type === "summary") summary = true;
        else yield* files.linesOf(message);
      }
    }
    const end = await engine.ended;
    signal.throwIfAborted();
    if (!summary) throw refusalOf(end, query);
    for (const complaint of readErrorsOf(end.stderr, tree)) query.onComplaint(complaint);
  } finally {
    files.close();
    tree.forget();
    await engine.stop();
  }
}

const NO_LINES: readonly SearchLine[] = [];

/** Files of a folder, in path order. Each is verified when a message names it, by opening it if necessary. */
class FoundFiles {
  readonly #tree: VerifiedTree;
  readonly #query: TextQuery;
  readonly #after: string;
  /** Allocated for the first opened file, and reused for all. */
  #block: Buffer | undefined;
  #key: string | undefined;
  #isWanted = false;
  #isStill: boolean | undefined;
  /** Null if it is missing. */
  #content: FileContent | null | undefined;

  constructor(tree: VerifiedTree, query: TextQuery) {
    this.#tree = tree;
    this.#query = query;
    this.#after = orderOf(query.after?.key ?? "");
  }

  linesOf(message: LineMessage): Iterable<SearchLine> {
    const key = message.key.startsWith("./") ? message.key.slice(2) : message.key;
    if (key !== this.#key) this.#begin(key);
    if (!this.#isWanted) return NO_LINES;
    this.#isStill ??= this.#tree.isStill(key);
    const after = this.#query.after?.key === key ? this.#query.after.line : 0;
    const file = { isVerified: this.#isStill, content: () => this.#open(key) };
    return linesOf(message, file, { path: decodeKey(key), key, after });
  }

  /** Newer messages arrive, so facts about the file must be checked again. */
  goOn(): void {
    this.#isStill = undefined;
  }

  close(): void {
    this.#content?.close();
    this.#content = undefined;
  }

  #begin(key: string): void {
    this.close();
    this.#key = key;
    this.#isWanted = this.#wants(key);
    this.#isStill = undefined;
  }

  #wants(key: string): boolean {
    const { glob, after } = this.#query;
    if (after !== undefined && orderOf(key) < this.#after) return false;
    if (glob !== undefined && !glob.matches(decodeKey(key))) return false;
    return this.#tree.judge(key) === "open";
  }

  #open(key: string): FileContent | undefined {
    if (this.#content === undefined) {
      const fd = this.#tree.openFile(key);
      this.#content = fd === undefined ? null : new FileContent(fd, (this.#block ??= FileContent.makeBlock()));
    }
    return this.#content ?? undefined;
  }
}

/** One file, which rg reads from the verified descriptor. */
class OnlyFile {
  readonly #content: FileContent;
  readonly #after: number;
  #isTold = false;

  constructor(fd: number, { after }: TextQuery) {
    this.#content = new FileContent(fd, FileContent.makeBlock());
    this.#after = after?.line ?? 0;
  }

  linesOf(message: LineMessage): Iterable<SearchLine> {
    if (this.#isTold) return NO_LINES;
    const { line } = message;
    if (this.#content.isBinary) {
      this.#isTold = true;
      if (this.#after > 0) return NO_LINES;
      return [{ path: "", key: "", line, is_match: true, text: "", cut_before: 0, cut_after: 0, binary: true }];
    }
    const file = { isVerified: true, content: () => this.#content };
    return linesOf(message, file, { path: "", key: "", after: this.#after });
  }

  goOn(): void {} // still the same file

  close(): void {} // the caller closes the descriptor
}

const MAX_EXPLANATION = 600;

const LITERALLY = String.raw`a "\" makes the next character literal`;

/** rg's messages refer to its own options; the caller has different ones. */
// oxfmt-ignore
const ADVICE = [
  { where: /--multiline/,              say: "set multiline" },
  { where: /--pcre2/,                  say: "search for the parts of it" },
  { where: /size limit|too (?:big|large|many)/, say: "make it smaller" },
] as const;

/** Why rg did not search at all. */
function refusalOf({ code, signal, stderr }: EngineEnd, { pattern, type }: TextQuery): ToolError {
  if (code !== 2) {
    return new ToolError("IOError", `Cannot search: ripgrep ended unexpectedly (${signal ?? code})`, {
      reason: signal ?? code,
    });
  }
  const message = stderr.replace(/^rg: /, "").trim().slice(0, MAX_EXPLANATION);
  if (message.startsWith("unrecognized file type")) {
    const message = `Cannot search files of the type ${JSON.stringify(type)}: unknown to ripgrep`;
    return new ToolError("InvalidArguments", message, { field: "type" });
  }
  const short = /^error: (.*)/m.exec(message)?.[1] ?? message.split("\n", 1)[0];
  const shown = JSON.stringify(pattern.length > 100 ? `${pattern.slice(0, 100)}…` : pattern);
  const advice = ADVICE.find(({ where }) => where.test(message))?.say ?? LITERALLY;
  return new ToolError("InvalidArguments", `Cannot search for ${shown}: ${short}; ${advice}`, {
    field: "pattern",
    explanation: message,
  });
}
