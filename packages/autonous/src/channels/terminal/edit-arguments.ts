import { spawn } from "node:child_process";
import { closeSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { findOnPath, locateJson, makeVisible } from "@autonous/runtime/internal";
import { openTerminal } from "./keyboard.ts";

/** The edited arguments, or what is wrong with them, so that the user can continue editing. */
export type EditedArguments = { readonly args: Readonly<Record<string, unknown>> } | { readonly problem: string };

/** The path of the user's editor, and its arguments. */
export interface Editor {
  readonly path: string;
  readonly args: readonly string[];
}

/** Undefined if none is set, or if it lies in a root, where the agent can write. */
export function findEditor(env: NodeJS.ProcessEnv, roots: readonly string[]): Editor | undefined {
  for (const setting of [env["VISUAL"], env["EDITOR"]]) {
    const [name = "", ...args] = (setting ?? "").split(/\s+/).filter((word) => word !== "");
    if (name === "" || (name.includes("/") && !isAbsolute(name))) continue;
    const path = findOnPath([name], { roots, path: isAbsolute(name) ? "/" : (env["PATH"] ?? "") });
    if (path !== undefined) return { path, args };
  }
  return undefined;
}

/** Opens the text in the user's editor and returns it as saved. Throws if that fails. */
export async function editText(text: string, editor: Editor, signal: AbortSignal): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-edit-")); // readable by this user only
  const file = join(folder, "arguments.json");
  const terminal = openTerminal(constants.O_RDWR);
  if (terminal === undefined) throw new Error("the terminal cannot be opened");
  try {
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
    // Not stdout: that carries the result, and may be a file.
    await endOf(spawn(editor.path, [...editor.args, file], { stdio: [terminal, terminal, terminal], signal }));
    return readFileSync(file, "utf8");
  } finally {
    closeSync(terminal);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function endOf(child: ReturnType<typeof spawn>): Promise<void> {
  const code = await new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (exitCode, signal) => resolve(exitCode ?? signal ?? 0));
  });
  if (code !== 0) throw new Error(`the editor exited with ${code}`);
}

export function readArguments(text: string): EditedArguments {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const at = firstWrong(text);
    const before = text.slice(0, at).split("\n");
    const column = (before.at(-1) ?? "").length + 1;
    const found = at >= text.length ? "unexpected end" : `unexpected ${JSON.stringify(characterAt(text, at))}`;
    return { problem: `Invalid JSON: line ${before.length}, column ${column}: ${found}` };
  }
  const located = locateJson(text);
  const [twice] = "problem" in located ? [] : located.repeated;
  if (twice !== undefined) {
    const { line, column } = twice.place;
    return { problem: `Line ${line}, column ${column}: duplicate ${makeVisible(JSON.stringify(twice.name))}` };
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { args: { ...value } };
  return { problem: 'Arguments must be a JSON object, for example {"path":"src"}' };
}

function characterAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at) ?? 0);
}

/** Whether the text is a valid beginning of JSON up to here: the engine does not always report the position. */
function firstWrong(text: string): number {
  let good = 0;
  let bad = text.length + 1;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (canGoOn(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
}

const AT_POSITION = / at position (?<position>\d+)/;

function canGoOn(beginning: string): boolean {
  try {
    JSON.parse(beginning);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    const position = AT_POSITION.exec(message)?.groups?.["position"];
    return position === undefined ? message === "Unexpected end of JSON input" : Number(position) >= beginning.length;
  }
}
