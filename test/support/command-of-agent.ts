import { copyFileSync, cpSync, linkSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Ended } from "./cli.ts";
import type { Workspace } from "./workspace.ts";

/**
 * The command line as a command of an agent's own: it lies in the workspace with all that it needs, so that it starts in
 * the sandbox too. `before` are words of the shell that come before it.
 */
export async function commandOfAgent({
  root,
  run,
}: Workspace): Promise<(words: string, before?: string) => Promise<Ended>> {
  const program = process.env["BUILT_PROGRAM"] ?? "";
  cpSync(dirname(dirname(dirname(program))), join(root, "program"), {
    recursive: true,
    filter: (from) => !from.endsWith("node_modules"),
  });
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(root, "program/node_modules"));
  putProgram(process.execPath, join(root, "node"));
  const command = (words: string, before: string): string =>
    `${before} ./node program/dist/bin/autonous.js ${words} </dev/null`;
  const version = await run("call", "bash", JSON.stringify({ cmd: command("--version", "") }));
  if (version.code !== 0) throw new Error(`The program does not start as a command: ${version.stderr}`);
  return async (words, before = "") => await run("call", "bash", JSON.stringify({ cmd: command(words, before) }));
}

function putProgram(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // another file system
  }
}
