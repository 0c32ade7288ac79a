import { randomBytes } from "node:crypto";
import { lstatSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../processes/process-tree.ts";

/** The ID of the process that planted it, and a random suffix. */
const CANARY = /^canary(\d+)x[0-9a-f]{16}(?:\.pem)?$/;

/** A unique word that contains the ID of this process. */
export function newCanary(): string {
  return `canary${process.pid}x${randomBytes(8).toString("hex")}`;
}

/** Removes canaries from these folders that killed checks left behind. */
export function sweepCanaries(folders: readonly string[]): void {
  for (const folder of new Set(folders)) {
    for (const name of readdirSync(folder)) {
      const planter = CANARY.exec(name)?.[1];
      if (planter === undefined || isAlive(Number(planter))) continue;
      const path = join(folder, name);
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found !== undefined && (found.isFile() || found.isSocket()) && found.uid === process.getuid?.())
        rmSync(path, { force: true });
    }
  }
}
