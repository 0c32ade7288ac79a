import { createInterface } from "node:readline";
import type { Interface } from "node:readline";
import { PassThrough } from "node:stream";
import { PASTE_OFF, PASTE_ON, PasteReader } from "./bracketed-paste.ts";

/** What the user sent: a message, Ctrl-C at an empty line, or Ctrl-D. */
export type TypedMessage =
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "interrupt" }
  | { readonly kind: "end" };

/** Completions for the last word of a line, and that word. */
export type Completions = readonly [found: readonly string[], word: string];

export interface MessageOptions {
  readonly prompt: string;
  /** Earlier messages for the arrow keys, the latest first. */
  readonly history: readonly string[];
  /** Tab completion for the line up to the cursor. */
  readonly complete?: (line: string) => Promise<Completions>;
  /** Ends the wait: the promise rejects with its reason. */
  readonly signal: AbortSignal;
}

const MORE = "… ";
export const MAX_KEPT = 500;
/** Maximum length of a message. */
const MAX_PASTE_LENGTH = 100_000;
/** Longer or multi-line pastes are shown as one placeholder word. */
const MAX_SHOWN_LENGTH = 200;
/** Shown for a line end in the line editor. */
const LINE_END = "␤";

/** The keyboard, in raw mode while it is read. */
export type KeyInput = NodeJS.ReadableStream & { setRawMode?(isRaw: boolean): unknown };

/**
 * Reads a message. A line that ends in `\` continues on the next one. Text that the terminal marks as pasted is one part
 * of the message. Without such marks, lines that arrive at once count as pasted, and are not sent until the user presses
 * Enter on an empty line.
 */
export async function readMessage(
  input: KeyInput,
  { prompt, history, complete, signal }: MessageOptions,
): Promise<TypedMessage> {
  signal.throwIfAborted();
  const pastes = new Map<string, string>();
  const keys = keysOf(input, pastes);
  const output = process.stderr;
  output.write(PASTE_ON);
  const lines = createInterface({
    input: keys.stream,
    output,
    terminal: true,
    history: history.map(onOneLine),
    historySize: MAX_KEPT,
    prompt,
    ...(complete === undefined ? {} : { completer: completerOf(complete) }),
  });
  const over = new AbortController();
  try {
    return await new Promise<TypedMessage>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true, signal: over.signal });
      collect(lines, { prompt, expand: (text) => expanded(text, pastes) }, resolve);
      lines.prompt();
    });
  } finally {
    over.abort();
    lines.close();
    keys.stop();
    output.write(PASTE_OFF);
  }
}

function onOneLine(text: string): string {
  return text.replaceAll("\n", LINE_END);
}

/** The typed text with placeholders replaced by the pasted text. */
function expanded(text: string, pastes: ReadonlyMap<string, string>): string {
  const lines = text.replaceAll(LINE_END, "\n");
  const words = [...pastes.keys()];
  const places = words.flatMap((word) => (lines.includes(word) ? [word] : []));
  return places.reduce((whole, word) => whole.split(word).join(pastes.get(word) ?? ""), lines);
}

/** The keys for the line editor. A long paste becomes one placeholder word; `pastes` maps it to its text. */
function keysOf(input: KeyInput, pastes: Map<string, string>): { stream: PassThrough; stop(): void } {
  const setRawMode = (isRaw: boolean): unknown => input.setRawMode?.(isRaw);
  const stream = Object.assign(new PassThrough(), { setRawMode, isTTY: true });
  const reader = new PasteReader(MAX_PASTE_LENGTH);
  const decoder = new TextDecoder();
  const take = (chunk: Buffer): void => {
    for (const { kind, text } of reader.push(decoder.decode(chunk, { stream: true })))
      stream.write(kind === "typed" ? text : wordFor(text, reader.isCut, pastes));
  };
  const end = (): void => void stream.end();
  input.on("data", take).once("end", end).once("close", end).resume();
  return {
    stream,
    stop() {
      input.off("data", take).off("end", end).off("close", end);
      input.pause();
    },
  };
}

function wordFor(text: string, isCut: boolean, pastes: Map<string, string>): string {
  const whole = text.replace(/\n+$/, "");
  if (!isCut && whole.length <= MAX_SHOWN_LENGTH && !/[\n\t]/.test(whole)) return whole;
  const lines = whole.split("\n").length;
  const size = lines > 1 ? `${lines} lines` : `${whole.length} characters`;
  const word = `[pasted ${pastes.size + 1}: ${isCut ? `the first ${size}` : size}]`;
  pastes.set(word, whole);
  return word;
}

type Completer = (
  line: string,
  done: (problem: Error | null, found: [string[], string]) => void,
) => void | Promise<void>;

/** A failed completion offers nothing and must not disturb the typed line. */
function completerOf(complete: NonNullable<MessageOptions["complete"]>): Completer {
  return async (line, done) => {
    let offered: Completions = [[], line];
    try {
      offered = await complete(line);
    } catch {
      // The folder is missing or unreadable.
    }
    const [found, word] = offered;
    done(null, [[...found], word]);
  };
}

interface CollectOptions {
  readonly prompt: string;
  readonly expand: (text: string) => string;
}

function collect(lines: Interface, { prompt, expand }: CollectOptions, resolve: (typed: TypedMessage) => void): void {
  const parts: string[] = [];
  let burst: string[] = [];
  let isPasted = false;

  // Lines of one chunk arrive before any other event: count them after that.
  function take(): void {
    const came = burst;
    burst = [];
    const [only = ""] = came;
    const isNews = !isPasted && (came.length > 1 || lines.line !== "");
    isPasted ||= isNews;
    if (isPasted && came.length === 1 && only === "" && lines.line === "") return send();
    if (!isPasted && !only.endsWith("\\")) return send(only);
    parts.push(...came.map((line) => (isPasted ? line : line.slice(0, -1))));
    lines.setPrompt(isNews ? `(pasted: Enter on an empty line sends it)\n${MORE}` : MORE);
    lines.prompt(true);
    lines.setPrompt(MORE);
  }
  function send(last?: string): void {
    const text = [...parts, ...(last === undefined ? [] : [last])].join("\n");
    resolve({ kind: "message", text: expand(text) });
  }
  lines.on("line", (line) => {
    if (burst.push(line) === 1) setImmediate(take);
  });
  lines.on("SIGINT", () => {
    if (parts.length === 0 && lines.line === "") return resolve({ kind: "interrupt" });
    parts.length = 0; // discard the message
    isPasted = false;
    process.stderr.write("^C\n");
    lines.write(null, { ctrl: true, name: "e" });
    lines.write(null, { ctrl: true, name: "u" });
    lines.setPrompt(prompt);
    lines.prompt();
  });
  lines.on("close", () => setImmediate(() => resolve({ kind: "end" })));
}
