import { createHash } from "node:crypto";
import type { OutputLimits, Transcript, TranscriptEnd } from "../../contract/context.ts";
import type { ObservationWriter } from "../../contract/journal.ts";
import { HeadAndTail } from "../../output/head-and-tail.ts";
import type { Gap } from "../../output/head-and-tail.ts";
import type { Redactor } from "../../redact/redact.ts";

/** Limit for one stored output. Output beyond it is counted and reported. */
const DISK_BYTES = 64 << 20;

export interface TranscriptOptions {
  readonly limits: OutputLimits;
  readonly redactor: Redactor;
  /** Creates the file for the full output. Called when the output exceeds what can be shown. */
  readonly openAside: () => ObservationWriter;
}

/** One stream: bytes to text to redacted text, independent of chunk boundaries. */
class Channel {
  readonly shown: HeadAndTail;
  readonly #decoder = new TextDecoder("utf-8");
  readonly #redactor: ReturnType<Redactor["stream"]>;

  constructor({ limits, redactor }: TranscriptOptions) {
    this.shown = new HeadAndTail(limits);
    this.#redactor = redactor.stream();
  }

  get redacted(): boolean {
    return this.#redactor.redacted;
  }

  push(piece: Uint8Array): string {
    return this.#take(this.#redactor.push(this.#decoder.decode(piece, { stream: true })));
  }

  pause(): string {
    return this.#take(this.#redactor.pause());
  }

  end(): string {
    const rest = this.#redactor.push(this.#decoder.decode());
    return this.#take(`${rest}${this.#redactor.end()}`);
  }

  #take(text: string): string {
    this.shown.push(text);
    return text;
  }
}

/**
 * Redacts before anything is cut or stored, so that no part of a secret survives at a cut. Both streams go to one file
 * in order of arrival; the file is created when one of them exceeds what can be shown.
 */
export function openTranscript(options: TranscriptOptions): Transcript {
  const channels = { stdout: new Channel(options), stderr: new Channel(options) };
  const whole = new WholeOutput(options.openAside);

  function keep(text: string): string {
    whole.add(text, channels.stdout.shown.isOver || channels.stderr.shown.isOver);
    return text;
  }

  return {
    write: (stream, piece) => keep(channels[stream].push(piece)),
    pause: (stream) => keep(channels[stream].pause()),
    end(): TranscriptEnd {
      keep(channels.stdout.end());
      keep(channels.stderr.end());
      const aside = whole.end();
      const describe = ({ bytes, lines }: Gap): string =>
        `[${lines} lines, ${bytes} bytes left out; ${whole.describe()}]`;
      const stdout = channels.stdout.shown.end(describe);
      const stderr = channels.stderr.shown.end(describe);
      return {
        stdout: stdout.text,
        stderr: stderr.text,
        truncated_lines: stdout.truncated_lines || stderr.truncated_lines,
        truncated_bytes: stdout.truncated_bytes || stderr.truncated_bytes,
        redacted: channels.stdout.redacted || channels.stderr.redacted,
        ...(aside === undefined ? {} : { aside }),
      };
    },
  };
}

/**
 * Kept in memory while all of it can be shown; on disk from then on. A full disk is reported with the output and does
 * not fail the command.
 */
class WholeOutput {
  readonly #open: () => ObservationWriter;
  readonly #hash = createHash("sha256");
  #held: string[] = [];
  #writer: ObservationWriter | undefined;
  #left = DISK_BYTES;
  #isCut = false;
  /** Why nothing is stored: the system's error code. */
  #problem: string | undefined;

  constructor(open: () => ObservationWriter) {
    this.#open = open;
  }

  add(text: string, isTooLong: boolean): void {
    if (text === "" || this.#problem !== undefined) return;
    if (this.#writer === undefined && !isTooLong) {
      this.#held.push(text);
      return;
    }
    try {
      this.#writer ??= this.#open();
      for (const each of [...this.#held, text]) this.#write(this.#writer, each);
    } catch (error) {
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (syscall === undefined) throw error;
      this.#problem = code ?? syscall;
    }
    this.#held = [];
  }

  end(): { readonly storage_ref: string; readonly sha256: string } | undefined {
    if (this.#writer === undefined) return undefined;
    const { storage_ref } = this.#writer;
    this.#writer.close();
    return this.#problem === undefined ? { storage_ref, sha256: this.#hash.digest("hex") } : undefined;
  }

  /** A clause about the full output. */
  describe(): string {
    if (this.#problem !== undefined) return `full output could not be stored (${this.#problem})`;
    const bound = this.#isCut ? ` (first ${DISK_BYTES} bytes)` : "";
    return `full output: ${this.#writer?.storage_ref}${bound}`;
  }

  #write(writer: ObservationWriter, text: string): void {
    if (this.#left === 0) {
      this.#isCut = true;
      return;
    }
    const bytes = Buffer.from(text).subarray(0, this.#left);
    if (bytes.length < Buffer.byteLength(text)) this.#isCut = true;
    this.#left -= bytes.length;
    this.#hash.update(bytes);
    writer.write(bytes);
  }
}
