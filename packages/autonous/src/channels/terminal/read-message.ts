import { createInterface } from "node:readline";
import type { Interface } from "node:readline";

/** What somebody said; Ctrl-C at an empty line; Ctrl-D. */
export type TypedMessage =
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "interrupt" }
  | { readonly kind: "end" };

export interface MessageOptions {
  readonly prompt: string;
  /** What was said before, the latest first: the arrow keys find it. What is said now is put there. */
  readonly history: string[];
  /** Ends the wait: the promise rejects with its reason. */
  readonly signal: AbortSignal;
}

const MORE = "… ";
const MOST_KEPT = 500;

/**
 * Reads a message. A line that ends in `\` goes on on the next one. Lines that come at once were pasted: nothing of them
 * is sent before somebody presses Enter on an empty line.
 */
export async function readMessage(
  input: NodeJS.ReadableStream,
  { prompt, history, signal }: MessageOptions,
): Promise<TypedMessage> {
  signal.throwIfAborted();
  const lines = createInterface({
    input,
    output: process.stderr,
    terminal: true,
    history: [...history],
    historySize: MOST_KEPT,
    prompt,
  });
  const over = new AbortController();
  try {
    const typed = await new Promise<TypedMessage>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true, signal: over.signal });
      collect(lines, prompt, resolve);
      lines.prompt();
    });
    if (typed.kind === "message") remember(history, typed.text);
    return typed;
  } finally {
    over.abort();
    lines.close();
  }
}

function collect(lines: Interface, prompt: string, resolve: (typed: TypedMessage) => void): void {
  const parts: string[] = [];
  let burst: string[] = [];
  let isPasted = false;

  // Lines of one piece come one after the other before anything else does: only then is it known how many.
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
    resolve({ kind: "message", text: [...parts, ...(last === undefined ? [] : [last])].join("\n") });
  }
  lines.on("line", (line) => {
    if (burst.push(line) === 1) setImmediate(take);
  });
  lines.on("SIGINT", () => {
    if (parts.length === 0 && lines.line === "") return resolve({ kind: "interrupt" });
    parts.length = 0; // thought better of it
    isPasted = false;
    process.stderr.write("^C\n");
    lines.write(null, { ctrl: true, name: "e" });
    lines.write(null, { ctrl: true, name: "u" });
    lines.setPrompt(prompt);
    lines.prompt();
  });
  lines.on("close", () => setImmediate(() => resolve({ kind: "end" })));
}

function remember(history: string[], text: string): void {
  if (text.trim() === "" || text.includes("\n") || history[0] === text) return;
  history.unshift(text);
  history.length = Math.min(history.length, MOST_KEPT);
}
