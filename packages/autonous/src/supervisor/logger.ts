import { join } from "node:path";
import { RotatingFile } from "./rotating-file.ts";

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
const KEPT = 5;
/** Enough for a stack trace. */
const MAX_CHARACTERS = 8192;

/** Path of the service log. */
export function logFile(folder: string): string {
  return join(folder, "service.jsonl");
}

/** Never throws: a log that cannot be written is reported once, and stops nothing. */
export function createLogger(options: LoggerOptions): Logger & { close(): void } {
  const { folder, redact, tell, clock = Date.now, maxBytes = MAX_BYTES, kept = KEPT } = options;
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
