import { readSync } from "node:fs";
import type { Launch } from "../processes/launch.ts";

/** The sandbox program and the shell in it report their progress in a few short lines. */
const STATUS_BYTES = 1024;
const READY_POLL_MS = 2;

/** Lets the other commands go on when this one has begun, which is after all has been mounted and checked, or is over. */
export function heldUntilBegun(
  launch: Launch,
  { status, release }: { readonly status: number; readonly release: () => void },
): Launch {
  const timer = setInterval(() => {
    if (!isReady(status)) return;
    clearInterval(timer);
    release();
  }, READY_POLL_MS);
  const close = (): void => {
    clearInterval(timer);
    release();
    launch.close();
  };
  return { ...launch, close };
}

export function isReady(status: number): boolean {
  return /^ready$/m.test(textOf(status));
}

function textOf(status: number): string {
  const bytes = Buffer.alloc(STATUS_BYTES);
  return bytes.toString("latin1", 0, readSync(status, bytes, 0, STATUS_BYTES, 0));
}

export function numberIn(status: number, pattern: RegExp): number | undefined {
  const found = pattern.exec(textOf(status))?.[1];
  return found === undefined ? undefined : Number(found);
}
