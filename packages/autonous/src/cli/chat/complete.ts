import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { findProgram, isInside, makeVisible } from "@autonous/runtime/internal";
import type { Runtime } from "@autonous/runtime";
import type { Completions } from "../../channels/terminal/read-message.ts";
import type { Workplace } from "../../workplace/workplace.ts";

interface CompleteOptions {
  readonly commands: readonly string[];
  readonly place: Pick<Workplace, "roots" | "cwd">;
  readonly runtime: Pick<Runtime, "explain">;
}

const NOTHING: Completions = [[], ""];

/** Tab completions: commands at the start of a line, project files after `@`. */
export async function complete(line: string, options: CompleteOptions): Promise<Completions> {
  if (/^\/\S*$/.test(line)) return [options.commands.filter((name) => name.startsWith(line)), line];
  const [, word, quoted, plain] = /(?:^|[\s([{"'`])(@(?:"([^"]*)|([^\s"]*)))$/.exec(line) ?? [];
  const typed = quoted ?? plain;
  if (word === undefined || typed === undefined) return NOTHING;
  const found = await filesLike(typed, options);
  return [found.map((path) => asMention(path, quoted !== undefined)), word];
}

/** Quotes a name with spaces. Leaves the quote of a folder open, so that a file can follow. */
function asMention(path: string, isQuoted: boolean): string {
  if (!isQuoted && !/[\s"]/.test(path)) return `@${path}`;
  return path.endsWith("/") ? `@"${path}` : `@"${path}"`;
}

/** More would be unreadable, and each needs a policy decision. */
const MAX_OFFERED = 50;

/** Files and folders whose path starts with the text; else files whose name contains it. Folders end in `/`. */
async function filesLike(typed: string, { place, runtime }: CompleteOptions): Promise<readonly string[]> {
  const folder = typed.includes("/") ? typed.slice(0, typed.lastIndexOf("/") + 1) : "";
  const at = resolve(place.cwd, folder === "" ? "." : folder);
  if (!place.roots.some((root) => isInside(root, at))) return [];
  const files = (await listFiles(at, place.roots)).map((path) => `${folder}${path}`);
  const next = new Set(files.filter((path) => path.startsWith(typed)).map((path) => upToNext(path, typed.length)));
  const named =
    next.size > 0 || typed === "" || folder !== "" ? [...next] : files.filter((path) => hasName(path, typed));
  const shown = named.filter((path) => makeVisible(path) === path && !path.includes('"')).toSorted();
  return await withoutDenied(shown.slice(0, MAX_OFFERED), runtime);
}

function upToNext(path: string, from: number): string {
  const end = path.indexOf("/", from);
  return end < 0 ? path : path.slice(0, end + 1);
}

function hasName(path: string, part: string): boolean {
  return path
    .slice(path.lastIndexOf("/") + 1)
    .toLowerCase()
    .includes(part.toLowerCase());
}

/** Leaves out paths that the policy denies. Not recorded, because only the user sees the names. */
async function withoutDenied(paths: readonly string[], { explain }: Pick<Runtime, "explain">): Promise<string[]> {
  const offered: string[] = [];
  for (const path of paths) {
    const name = path.endsWith("/") ? "ls" : "read";
    const { effect } = await explain({ name, args: { path } });
    if (effect !== "DENY") offered.push(path);
  }
  return offered;
}

/** Large folders are searched only in part, because completion has to be fast. */
const MAX_BYTES = 2_000_000;
const SEARCH_TIMEOUT_MS = 500;

/** The files below a folder, relative to it, as `find` lists them: without files that git ignores. */
async function listFiles(folder: string, roots: readonly string[]): Promise<readonly string[]> {
  const program = await findProgram("rg", { roots });
  if (program === undefined) return [];
  const words = ["--no-config", "--files", "--null", "--hidden", "--no-messages", "--glob", "!.git", "."];
  const child = spawn(program, words, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  let listed = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    listed += piece;
    if (listed.length > MAX_BYTES) child.kill("SIGKILL");
  });
  const late = setTimeout(() => child.kill("SIGKILL"), SEARCH_TIMEOUT_MS);
  await new Promise<void>((done) => child.once("close", () => done()).once("error", () => done()));
  clearTimeout(late);
  const whole = listed.slice(0, listed.lastIndexOf("\0") + 1); // the last name may be cut off
  return whole.split("\0").flatMap((path) => (path === "" ? [] : [path.replace(/^\.\//, "")]));
}
