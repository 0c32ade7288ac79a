import { closeSync, constants, fstatSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openOwnFile, readOwnText, redact, secretsOf } from "@autonous/runtime";
import { MOST_KEPT } from "../../channels/terminal/read-message.ts";

const NAME = "chat-history.jsonl";
/** Two files of this size at most: what was typed, and what was typed before. */
const MOST_BYTES = 262_144;
/** What is longer is seldom typed again, and not worth its place. */
const LONGEST = 4_000;
/** A lock that is older was left by a process that was killed. */
const STALE_LOCK_MS = 10_000;

/**
 * What people typed in chats of a folder, redacted, in the state folder. Several chats may add to it at once: an entry is
 * one write at the end of the file. A line that was cut off by a kill is skipped.
 */
export class TypedHistory {
  readonly #file: string;
  readonly #note: (text: string) => void;
  #isTold = false;

  constructor(state_dir: string, note: (text: string) => void) {
    this.#file = join(state_dir, NAME);
    this.#note = note;
  }

  /** The latest first. */
  read(): string[] {
    const texts = [`${this.#file}.1`, this.#file].flatMap((file) => this.#entriesOf(file));
    const latest = texts.filter((text, index) => text !== texts[index + 1]).slice(-MOST_KEPT);
    return latest.toReversed();
  }

  add(text: string): void {
    const kept = redact(text, { known: secretsOf(process.env) }).text;
    if (kept.trim() === "" || kept.length > LONGEST) return;
    this.#attempt("keep", () => {
      const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
      const fd = openOwnFile(this.#file, flags, 0o600);
      try {
        // A new line goes before each: one that was cut off spoils no other.
        writeSync(fd, `\n${JSON.stringify({ text: kept })}`);
        if (fstatSync(fd).size > MOST_BYTES) this.#rotate();
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

  /** A chat that still has the old file open adds to it under its new name. The lock keeps two from doing it one after the other. */
  #rotate(): void {
    const lock = `${this.#file}.lock`;
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > STALE_LOCK_MS) rmSync(lock, { force: true });
    try {
      closeSync(openSync(lock, "wx", 0o600));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return; // another chat does it
      throw error;
    }
    try {
      if ((statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) > MOST_BYTES)
        renameSync(this.#file, `${this.#file}.1`);
    } finally {
      rmSync(lock, { force: true });
    }
  }

  /** A chat works without its history. */
  #attempt<T>(what: "keep" | "read", work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" && what === "read") return undefined;
      if (!this.#isTold) this.#note(`Cannot ${what} the history of what was typed: ${code ?? message}`);
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
    return undefined; // empty, or cut off
  }
}
