import { execFileSync, spawn, spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { defineProgram, environment } from "./cli.ts";
import type { RunOptions } from "./cli.ts";

/** The program `script` (util-linux) is the terminal. */
export const hasTerminal: boolean = spawnSync("script", ["--version"]).status === 0;
export const needsTerminal: string = hasTerminal ? "" : " (skipped: needs script, apt-get install bsdutils)";

export interface Terminal {
  /** Types it, as it is: `\r` is Enter, `\u0003` Ctrl-C. */
  type(text: string): void;
  /** Waits until it shows this, after what was seen before, and gives what came up to there. Fails where it ends before. */
  sees(what: string | RegExp): Promise<string>;
  resize(columns: number): void;
  /** All that it showed, and how the line ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

interface TerminalOptions extends Omit<RunOptions, "input"> {
  readonly columns?: number;
}

/** A person at a terminal who runs a line of bash in which `autonous` is the built command line. */
export function openTerminal(line: string, { cwd, env, columns = 80 }: TerminalOptions): Terminal {
  const setUp = `tty; stty cols ${columns} rows 40`;
  const more = { CI: "", ...env, SHELL: "/bin/bash", LINE: `${defineProgram}\n${setUp}\n${line}` };
  const child = spawn("script", ["-qec", 'exec bash -c "$LINE"', "/dev/null"], { cwd, env: environment(more) });
  let output = "";
  let seen = 0;
  let wake = (): void => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    wake();
  });
  child.stdin.on("error", () => {}); // it may be over before all is typed
  let isOver = false;
  const ended = new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      isOver = true;
      wake();
      resolve({ code, output });
    });
  });
  onTestFinished(async () => {
    if (!isOver) child.kill("SIGKILL"); // the terminal goes, and what runs in it with it
    await ended;
  });
  return {
    type: (text) => void child.stdin.write(text),
    async sees(what) {
      for (;;) {
        const found = findIn(output, what, seen);
        if (found !== undefined) {
          const upTo = output.slice(seen, found);
          seen = found;
          return upTo;
        }
        if (isOver) throw new Error(`It ended before it showed ${String(what)}: ${JSON.stringify(output.slice(seen))}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    resize(wanted) {
      const name = /^\/dev\/\S+/m.exec(output)?.[0] ?? "";
      execFileSync("stty", ["-F", name, "cols", String(wanted)]);
    },
    ended,
  };
}

/** Where what is looked for ends. */
function findIn(text: string, what: string | RegExp, from: number): number | undefined {
  if (typeof what === "string") {
    const at = text.indexOf(what, from);
    return at < 0 ? undefined : at + what.length;
  }
  const match = what.exec(text.slice(from));
  return match === null ? undefined : from + match.index + match[0].length;
}

/** What is left on the screen of what a line editor wrote: without its moves and colours. */
export function plain(output: string): string {
  // oxlint-disable-next-line no-control-regex
  return output.replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, "").replaceAll("\r", "");
}
