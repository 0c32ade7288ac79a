import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { ownProcess } from "../system/process-owner.ts";
import { MARK } from "./marks.ts";

/**
 * Waits for a line, which says that no commands are left, or for the end of its standard input, whose other end
 * only the runtime has: then it ends whatever carries a mark of that runtime, and looks again, because they may have made
 * others meanwhile. It calls no program.
 */
const SCRIPT = [
  "trap '' HUP INT TERM", // sent to all of a service that is asked to stop: others may take a while to
  "for fd in /proc/$$/fd/*; do fd=${fd##*/}; ((fd > 2)) && exec {fd}>&-; done",
  "read -r && exit 0",
  "for ((round = 0; round < 50; round++)); do",
  "  found=",
  "  for folder in /proc/[1-9]*; do",
  '    text=; IFS= read -r -N 4194304 text <"$folder/environ"', // without the zeros between its entries
  `    [[ $text == *"${MARK}="*"@$1"* ]] && found=1 && kill -KILL "\${folder#/proc/}"`,
  "  done",
  "  [[ -n $found ]] || exit 0",
  "  read -r -t 0.02 <><(:)",
  "done",
].join("\n");

/** It stays for the next command for so long: to start one takes as long as a tenth of a command in the sandbox. */
const LINGER_MS = 5_000;

interface Keeper {
  /** How many commands there are. */
  commands: number;
  linger: NodeJS.Timeout | undefined;
  /** Says that there are none. */
  dismiss(): void;
}

let current: Keeper | undefined;

/**
 * While there are commands, a process watches over them that outlives this one by a moment and ends what they left: those
 * without a sandbox, and what a bubblewrap leaves that was killed while it started the process inside, which then waits
 * for it forever. The kernel ends all others with us. Call the result when the command has ended.
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
  const lifeline = child.stdin as Socket | undefined; // there is none where we have no descriptor left
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
  lifeline?.on("error", () => {}); // it is gone, which `exit` tells
  lifeline?.unref();
  return keeper;
}
