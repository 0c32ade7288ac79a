import { readSync, writeSync } from "node:fs";
import { anonymousFile } from "../processes/anonymous-file.ts";
import type { Gate } from "../processes/suspend-movers.ts";
import type { Launch } from "../processes/launch.ts";
import { SHUT } from "../processes/prologue.ts";

/** The sandbox program and the shell in it report their progress in a few short lines. */
const STATUS_BYTES = 1024;
const READY_POLL_MS = 2;
const OPEN = "-";

/** Begins with the gate byte, which only the runtime writes; then come the progress lines. The caller closes it. */
export function statusFile(folder: string): number {
  return anonymousFile(folder, Buffer.from(`${OPEN}\n`));
}

/** The shell reports that it is tied to us before it reads the gate: until then it will see what is written here. */
export function gateOf(status: number): Gate {
  const write = (byte: string): void => void writeSync(status, byte, 0);
  return {
    shut: () => {
      write(SHUT);
      return !/^tied$/m.test(textOf(status));
    },
    open: () => write(OPEN),
  };
}

/** Resumes the other commands when this one has begun, after all mounts and checks, or has ended. */
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
