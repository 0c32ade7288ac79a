import { ToolError } from "../../protocol/errors.ts";
import { startChild } from "./child.ts";
import type { Child, ChildEnd, ChildOptions } from "./child.ts";
import type { Launch } from "./launch.ts";

/**
 * A place that a sandbox protects may vanish during setup, such as a socket of another program; then the sandbox does
 * not start.
 */
const STARTS = 3;

export interface FreshOptions extends ChildOptions {
  /** The command has a new first process. */
  readonly onRestart?: (pid: number) => void;
}

/** Like `startChild`, but retries with a new sandbox if one did not start: nothing has run then. */
export function startFresh(launch: () => Launch, { onRestart = () => {}, ...options }: FreshOptions): Child {
  let child = startChild(launch(), options);
  let isStopped = false;
  const toItsEnd = async (): Promise<ChildEnd> => {
    for (let left = STARTS - 1; ; left--) {
      try {
        return await child.ended;
      } catch (error) {
        if (left === 0 || isStopped || !(error instanceof ToolError) || error.code !== "SandboxUnavailable")
          throw error;
      }
      child = startChild(launch(), options);
      onRestart(child.pid);
    }
  };
  const ended = toItsEnd();
  ended.catch(() => {}); // callers that await it get the error
  return {
    get pid() {
      return child.pid;
    },
    get launch() {
      return child.launch;
    },
    ended,
    stop() {
      isStopped = true;
      child.stop();
    },
  };
}
