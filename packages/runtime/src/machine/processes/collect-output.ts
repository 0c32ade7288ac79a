import { closeSync, constants, openSync, writeSync } from "node:fs";
import type { CommandOptions, KeptOutput, OutputStream } from "../../contract/processes.ts";
import { HeadTail } from "./head-tail.ts";

const KEPT = { head_bytes: 65_536, tail_bytes: 65_536 };

/** Takes what a command prints: to the listener, to the file, and its beginning and end to memory. */
export class OutputCollector {
  readonly #options: Pick<CommandOptions, "onOutput" | "output_file" | "keep">;
  readonly #kept: Readonly<Record<OutputStream, HeadTail>>;
  #file: number | undefined;
  #room: number;
  #cut: "limit" | "IOError" | undefined;

  constructor(options: Pick<CommandOptions, "onOutput" | "output_file" | "keep">) {
    const keep = options.keep ?? KEPT;
    this.#options = options;
    this.#kept = { stdout: new HeadTail(keep), stderr: new HeadTail(keep) };
    this.#room = options.output_file?.limit_bytes ?? 0;
    if (options.output_file !== undefined) this.#file = openSync(options.output_file.path, NEW_FILE, 0o600);
  }

  add(stream: OutputStream, piece: Buffer): void {
    this.#kept[stream].add(piece);
    if (this.#file !== undefined && this.#cut === undefined) this.#write(this.#file, piece);
    this.#options.onOutput?.(stream, piece);
  }

  /** Written at once, so that nothing piles up in memory however fast it is printed. */
  #write(file: number, piece: Buffer): void {
    const part = piece.subarray(0, this.#room);
    try {
      for (let at = 0; at < part.length;) at += writeSync(file, part, at);
    } catch {
      this.#cut = "IOError"; // told in the result: the command itself did nothing wrong
      return;
    }
    this.#room -= part.length;
    if (part.length < piece.length) this.#cut = "limit";
  }

  end(): { stdout: KeptOutput; stderr: KeptOutput; file_cut?: "limit" | "IOError" } {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    const kept = { stdout: this.#kept.stdout.kept(), stderr: this.#kept.stderr.kept() };
    return this.#cut === undefined ? kept : { ...kept, file_cut: this.#cut };
  }
}

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
