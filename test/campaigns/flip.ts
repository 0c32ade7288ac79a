/** Run as a process of its own: turns folders into links to the outside and back, as fast as it can, until it is ended. */
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";

const [, , root = "", outside = ""] = process.argv;

/** Each place is a folder at one moment and a link to the outside at the next. */
const PLACES = ["flip", "deep/flip", "deep/deeper/flip", "deep"];

for (const place of PLACES) mkdirSync(join(root, place), { recursive: true });
process.send?.("ready");
process.on("disconnect", () => process.exit());

function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // Another place above this one is just being flipped; the next round finds it back.
  }
}

function flip(place: string): void {
  const path = join(root, place);
  const away = join(root, `${place.replaceAll("/", "-")}.away`);
  attempt(() => renameSync(path, away));
  attempt(() => symlinkSync(outside, path));
  attempt(() => unlinkSync(path));
  attempt(() => symlinkSync(join(root, "inside-link-target"), path));
  attempt(() => rmSync(path, { force: true }));
  attempt(() => renameSync(away, path));
}

function round(): void {
  for (let i = 0; i < 50; i++) for (const place of PLACES) flip(place);
  setImmediate(round);
}
round();
