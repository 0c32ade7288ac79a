import { closeSync, constants, fstatSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { redact } from "@autonous/runtime";
import { openOwnFile, readOwnText, secretsOf } from "@autonous/runtime/internal";
import { MAX_KEPT } from "../../channels/terminal/read-message.ts";

const NAME = "chat-history.jsonl";
/** Maximum size of the current file; one older file of this size is kept too. */
const MAX_BYTES = 262_144;
/** Longer messages are not stored: they are seldom repeated. */
const LONGEST = 4_000;
/** An older lock was left by a killed process. */
const STALE_LOCK_MS = 10_000;

/**
 * The input history of a folder's chats, redacted, in the state folder. Several chats may append at once: an entry is
 * one write at the end of the file. A line truncated by a kill is skipped.
 */
export class TypedHistory {
  readonly #file: string;
  readonly #note: (text: string) => void;
  #isTold = false;

  constructor(state_dir: string, note: (text: string) => void) {
    this.#file = join(state_dir, NAME);
    this.#note = note;
  }

  /** Newest first. */
  read(): string[] {
    const texts = [`${this.#file}.1`, this.#file].flatMap((file) => this.#entriesOf(file));
    const latest = texts.filter((text, index) => text !== texts[index + 1]).slice(-MAX_KEPT);
    return latest.toReversed();
  }

  add(text: string): void {
    const kept = redact(text, { known: secretsOf(process.env) }).text;
    if (kept.trim() === "" || kept.length > LONGEST) return;
    this.#attempt("keep", () => {
      const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
      const fd = openOwnFile(this.#file, flags, 0o600);
      try {
        // A line break precedes each entry, so that a truncated one does not damage the next.
        writeSync(fd, `\n${JSON.stringify({ text: kept })}`);
        if (fstatSync(fd).size > MAX_BYTES) this.#rotate();
      } finally {
        closeSync(fd);
      }
    });
  }

  #entriesOf(file: string): string[] {
    return (
      this.#attempt("read", () =>
        readOwnText(file)
          .split("\n")
          .flatMap((line) => entryIn(line) ?? []),
      ) ?? []
    );
  }

  /** A chat that has the old file open keeps appending to the renamed file. The lock prevents a double rotation. */
  #rotate(): void {
    const lock = `${this.#file}.lock`;
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > STALE_LOCK_MS) rmSync(lock, { force: true });
    try {
      closeSync(openSync(lock, "wx", 0o600));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return; // another chat is rotating
      throw error;
    }
    try {
      if ((statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES)
        renameSync(this.#file, `${this.#file}.1`);
    } finally {
      rmSync(lock, { force: true });
    }
  }

  /** Errors are only noted: the chat also works without its history. */
  #attempt<T>(what: "keep" | "read", work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" && what === "read") return undefined;
      if (!this.#isTold) this.#note(`Cannot ${what} the input history: ${code ?? message}`);
      this.#isTold = true;
      return undefined;
    }
  }
}

function entryIn(line: string): string | undefined {
  try {
    const { text } = JSON.parse(line) as { readonly text?: unknown };
    return typeof text === "string" && text.length <= LONGEST ? text : undefined;
  } catch {
    return undefined; // empty or truncated
  }
}
