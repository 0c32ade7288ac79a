import { opendirSync } from "node:fs";
import { kindOf, procPath } from "../system/handle.ts";

export type Names = readonly { readonly name: string; readonly kind: ReturnType<typeof kindOf> }[];

/** Created by tools, not by the skill's author. Neither hashed nor run. */
const NOT_PART: ReadonlySet<string> = new Set([".git", "__pycache__", ".DS_Store"]);

/** At most `most` entries of an open folder, sorted by name. */
export function readNames(fd: number, most: number): { readonly names: Names; readonly more: boolean } {
  const names: { name: string; kind: ReturnType<typeof kindOf> }[] = [];
  const open = opendirSync(procPath(fd));
  try {
    for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
      if (NOT_PART.has(entry.name)) continue;
      if (names.length >= most) return { names, more: true };
      names.push({ name: entry.name, kind: kindOf(entry) });
    }
  } finally {
    open.closeSync();
  }
  return { names: names.sort((one, other) => (one.name < other.name ? -1 : 1)), more: false };
}
