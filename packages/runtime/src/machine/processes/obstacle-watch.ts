import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Between two looks at a running engine. */
const LOOK_MS = 250;
/** A search of text in one large file may need this much; more is looked into, as often as it doubles. */
const MUCH_MEMORY_PAGES = (256 << 20) / 4096;
/** At which looks at an engine that stands still a reason is searched for: soon, and again in case it came later. */
const isTimeToFind = (looks: number): boolean => looks === 2 || (looks > 0 && looks % 40 === 0);

export interface ObstacleWatch {
  /** Throws the reason for which the engine was ended, if there is one. */
  throwIfFound(): void;
}

/**
 * Looks at an engine while it runs. Where it stands still without output, or takes much memory, `find` looks for a
 * reason, and the engine is ended if there is one. It is paused meanwhile, so that its memory does not grow.
 */
export function watchForObstacles(child: ChildProcess, find: () => Promise<Error | undefined>): ObstacleWatch {
  let found: Error | undefined;
  let before: Usage | undefined;
  let stillFor = 0;
  let isLooking = false;
  let memory = MUCH_MEMORY_PAGES;
  const timer = setInterval(() => {
    const now = isLooking ? undefined : usageOf(child);
    if (now === undefined) return;
    stillFor = isStill(child, before, now) ? stillFor + 1 : 0;
    before = now;
    const isLarge = now.pages > memory;
    if (isLarge) memory = now.pages * 2;
    if (!isLarge && !isTimeToFind(stillFor)) return;
    isLooking = true;
    if (isLarge) child.kill("SIGSTOP");
    void find()
      .then(
        (error) => (found = error),
        (error: unknown) => (found = error as Error),
      )
      .finally(() => {
        isLooking = false;
        child.kill(found === undefined ? "SIGCONT" : "SIGKILL");
      });
  }, LOOK_MS);
  timer.unref();
  child.once("close", () => clearInterval(timer));
  child.once("error", () => clearInterval(timer));
  return {
    throwIfFound() {
      if (found !== undefined) throw found;
    },
  };
}

interface Usage {
  /** Whether every thread sleeps: one that waits for a processor or a disk does not. */
  readonly isAsleep: boolean;
  /** In ticks of the clock. */
  readonly cpu: number;
  readonly pages: number;
}

/** Idle threads wake up now and then: up to this many ticks (10 ms each) between two looks count as idle. */
const IDLE_TICKS = 8;

/** An engine also waits while its output is unread. */
function isStill({ stdout }: ChildProcess, before: Usage | undefined, { isAsleep, cpu }: Usage): boolean {
  return before !== undefined && isAsleep && cpu - before.cpu <= IDLE_TICKS && stdout?.readableLength === 0;
}

/** Of all its threads. Undefined once it is gone. */
function usageOf({ pid }: ChildProcess): Usage | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const isAsleep = threads.every((thread) => fieldsOf(`/proc/${pid}/task/${thread}/stat`)[0] === "S");
    // Times are fields 14 and 15, resident pages 24.
    const fields = fieldsOf(`/proc/${pid}/stat`);
    return { isAsleep, cpu: Number(fields[11]) + Number(fields[12]), pages: Number(fields[21]) };
  } catch {
    return undefined;
  }
}

/** From the third on, the state: those before it are the number and the name, which may hold anything. */
function fieldsOf(path: string): readonly string[] {
  const stat = readFileSync(path, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
