import type { ShellWord, SimpleCommand } from "../../shell/parsed-shell.ts";
import { findLaterPlace } from "../paths/check-path.ts";
import type { DangerLevel } from "./command-dangers.ts";
import { placeOf, resolveWord, withoutPattern } from "./command-places.ts";
import type { CommandGround } from "./command-places.ts";

/** A finding about one command. */
export interface Remark {
  readonly level: DangerLevel;
  readonly reason: string;
}

export type Judge = (command: SimpleCommand, ground: CommandGround) => readonly Remark[];

export const destructive = (reason: string): Remark => ({ level: "destructive", reason });
export const risky = (reason: string): Remark => ({ level: "risky", reason });
export const undoable = (reason: string): Remark => ({ level: "undoable", reason });

/** Findings about writing to these words. Used for redirections too. */
export function judgeWrites(
  { folder }: Pick<SimpleCommand, "folder">,
  ground: CommandGround,
  words: readonly ShellWord[],
): readonly Remark[] {
  const remarks: Remark[] = [];
  for (const word of words) {
    const full = resolveWord(word, folder, ground);
    if (full === undefined || (word.isDynamic && word.value === "")) continue;
    const place = placeOf(withoutPattern(full).path, ground);
    if (place === "inside" && findLaterPlace(full, ground) === undefined) continue;
    const shown = JSON.stringify(word.text);
    if (/^\/dev\/(?:tcp|udp)\//.test(full)) remarks.push(risky(`it opens a connection (${shown})`));
    else if (place === "device") remarks.push(destructive(`it writes to a device (${shown})`));
    else if (place === "machine" && !word.isDynamic && !/^\/(?:usr\/local|opt|tmp|var\/tmp|dev)\b/.test(full))
      remarks.push(destructive(`it writes to a system path (${shown})`));
    else if (/^(?:machine|home|above|outside)$/.test(place) && full !== "/tmp" && full !== "/dev/shm")
      remarks.push(risky(`it writes outside the workspace (${shown})`));
    else if (/^(?:inside|repository)$/.test(place) || findLaterPlace(full, ground) !== undefined)
      remarks.push(risky(`it changes what runs later without approval (${shown})`));
  }
  return remarks;
}
