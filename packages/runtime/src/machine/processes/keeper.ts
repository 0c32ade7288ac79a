import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { ownProcess } from "../system/process-owner.ts";
import { MARK } from "./marks.ts";

/**
 * Waits for a line, which means that no commands run, or for the end of its standard input, whose other end only the
 * runtime holds. Then it kills every process that carries a mark of that runtime, repeatedly, because they may have
 * started others meanwhile. It starts no program.
 */
const SCRIPT = [
  "trap '' HUP INT TERM", // sent to the whole service when it is stopped: other processes may need more time to
  "for fd in /proc/$$/fd/*; do fd=${fd##*/}; ((fd > 2)) && exec {fd}>&-; done",
  "read -r && exit 0",
  "for ((round = 0; round < 50; round++)); do",
  "  found=",
  "  for folder in /proc/[1-9]*; do",
  '    text=; IFS= read -r -N 4194304 text <"$folder/environ"', // without the NUL bytes between
  `    [[ $text == *"${MARK}="*"@$1"* ]] && found=1 && kill -KILL "\${folder#/proc/}"`,
  "  done",
  "  [[ -n $found ]] || exit 0",
  "  read -r -t 0.02 <><(:)",
  "done",
].join("\n");

/** It stays this long for the next command: starting one costs a tenth of a sandboxed command. */
const LINGER_MS = 5_000;

interface Keeper {
  /** Number of running commands. */
  commands: number;
  linger: NodeJS.Timeout | undefined;
  /** Reports that no command runs. */
  dismiss(): void;
}

let current: Keeper | undefined;

/**
 * While commands run, a separate process watches this one, outlives it for a moment, and kills leftover processes:
 * those without a sandbox, and those of a bubblewrap that was killed while it started its first process, which would
 * wait forever. The kernel kills all others with us. Call the result when the command has ended.
 */
export function keepCommand(bash: string): () => void {
  const keeper = (current ??= startKeeper(bash));
  keeper.commands++;
  clearTimeout(keeper.linger);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    if (--keeper.commands === 0) keeper.linger = setTimeout(keeper.dismiss, LINGER_MS).unref();
  };
}

/** Ends the keeper if no commands run. For callers that start no more commands. */
export function dismissKeeper(): void {
  if (current?.commands === 0) current.dismiss();
}

function startKeeper(bash: string): Keeper {
  const inherited = process.env[MARK];
  const child: ChildProcess = spawn(bash, ["--noprofile", "--norc", "-c", SCRIPT, "autonous-keeper", ownProcess()], {
    cwd: "/",
    env: inherited === undefined ? {} : { [MARK]: inherited },
    stdio: ["pipe", "ignore", "ignore"],
    detached: true, // Ctrl-C in a terminal ends our process group, not the keeper
  });
  const lifeline = child.stdin as Socket | undefined; // undefined if no descriptor was left
  const forget = (): void => {
    clearTimeout(keeper.linger);
    if (current === keeper) current = undefined; // the next command gets another one
  };
  const dismiss = (): void => {
    forget();
    lifeline?.end("done\n");
  };
  const keeper: Keeper = { commands: 0, linger: undefined, dismiss };
  child.once("error", forget).once("exit", forget);
  child.unref();
  lifeline?.on("error", () => {}); // it is gone: `exit` reports that
  lifeline?.unref();
  return keeper;
}
