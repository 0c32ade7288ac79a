import { join, dirname } from "node:path";
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, renameSync, writeSync } from "node:fs";

/** Structured fields of a log line: `task_id`, `worker`, `exit_code`. */
type Facts = Readonly<Record<string, string | number | boolean | null>>;

/** One line of `service.jsonl`, without its facts. */
interface LogLine {
  readonly ts: string;
  readonly level: Level;
  readonly part: string;
  readonly message: string;
}

type Level = "info" | "warn" | "error";

export interface Logger {
  /** For the file only: normal operation. */
  readonly info: (message: string, facts?: Facts) => void;
  /** Also shown to the operator: problems that need no action. */
  readonly warn: (message: string, facts?: Facts) => void;
  /** Also shown to the operator: problems that need action. */
  readonly error: (message: string, facts?: Facts) => void;
  /** A logger for one part of the service. */
  part(name: string): Logger;
}

export interface LoggerOptions {
  readonly folder: string;
  readonly redact: (text: string) => string;
  /** Shows a line to the operator. */
  readonly tell: (line: string) => void;
  readonly clock?: () => number;
  readonly maxBytes?: number;
  readonly kept?: number;
}

const MAX_BYTES = 10 * 1024 * 1024;
const MAX_LOG_FILES = 5;
/** Enough for a stack trace. */
const MAX_CHARACTERS = 8192;

/** Path of the service log. */
export function logFile(folder: string): string {
  return join(folder, "service.jsonl");
}

/** Never throws: a log that cannot be written is reported once, and stops nothing. */
export function createLogger(options: LoggerOptions): Logger & { close(): void } {
  const { folder, redact, tell, clock = Date.now, maxBytes = MAX_BYTES, kept = MAX_LOG_FILES } = options;
  const file = new RotatingFile({ path: logFile(folder), maxBytes, kept });
  const shorten = (text: string): string => redact(text.length > MAX_CHARACTERS ? cut(text) : text);
  const safeFacts = (facts: Facts): Facts =>
    Object.fromEntries(
      Object.entries(facts).map(([key, value]) => [key, typeof value === "string" ? shorten(value) : value]),
    );
  let problem = "";

  function write(line: LogLine & Facts): void {
    let found = "";
    try {
      file.write(JSON.stringify(line));
    } catch (error) {
      found = `Cannot write the log "${logFile(folder)}": ${(error as Error).message}`;
    }
    if (found === problem) return;
    tell(
      found === "" ? `The log "${logFile(folder)}" is writable again` : `${found}. The service continues without it`,
    );
    problem = found;
  }

  function part(name: string): Logger {
    const at =
      (level: Level) =>
      (text: string, facts: Facts = {}): void => {
        const message = shorten(text);
        // Shown before the write, in case the write blocks.
        if (level !== "info") tell(message);
        const line = { ts: new Date(clock()).toISOString(), level, part: name, message };
        write({ ...line, ...safeFacts(facts), ...line });
      };
    return { info: at("info"), warn: at("warn"), error: at("error"), part };
  }

  return { ...part("service"), close: () => file.close() };
}

function cut(text: string): string {
  return `${text.slice(0, MAX_CHARACTERS)}… (${text.length - MAX_CHARACTERS} more characters)`;
}

interface RotatingFileOptions {
  readonly path: string;
  /** A file that would grow beyond this size becomes `<path>.1`, the previous one `<path>.2`, and so on. */
  readonly maxBytes: number;
  /** Number of files kept, including the current one. */
  readonly kept: number;
}

const NEW_LINE = 10;

/** Appends lines to a file of bounded size. Only one process may write to it. */
class RotatingFile {
  readonly #options: RotatingFileOptions;
  #fd: number | undefined;
  #bytes = 0;
  /** The file ends within a line: the disk was full, or the writer was killed. */
  #isCut = false;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
  }

  /** Throws the file system error. The next line retries. */
  write(line: string): void {
    const text = Buffer.from(`${line}\n`);
    try {
      const fd = this.#fdFor(text.length);
      const whole = this.#isCut ? Buffer.concat([Buffer.from([NEW_LINE]), text]) : text;
      const written = writeSync(fd, whole);
      this.#bytes += written;
      this.#isCut = whole[written - 1] !== NEW_LINE;
      if (written < whole.length) throw Object.assign(new Error("No space left for the log line"), { code: "ENOSPC" });
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #fdFor(bytes: number): number {
    // The file may have been deleted: writes to it would be lost.
    if (this.#fd !== undefined && fstatSync(this.#fd).nlink === 0) this.close();
    this.#fd ??= this.#open();
    if (this.#bytes === 0 || this.#bytes + bytes <= this.#options.maxBytes) return this.#fd;
    this.close();
    this.#rotate();
    this.#fd = this.#open();
    return this.#fd;
  }

  #open(): number {
    const { path } = this.#options;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(path, "a+", 0o600);
    this.#bytes = fstatSync(fd).size;
    this.#isCut = this.#bytes > 0 && lastByte(fd, this.#bytes) !== NEW_LINE;
    return fd;
  }

  #rotate(): void {
    const { path, kept } = this.#options;
    for (let number = kept - 2; number >= 1; number--)
      if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`);
    renameSync(path, `${path}.1`);
  }
}

function lastByte(fd: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, size - 1);
  return byte[0];
}
