import { existsSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { autonous } from "./cli.ts";
import type { Ended } from "./cli.ts";
import type { Place } from "./service.ts";

const DAY_MS = 86_400_000;

/** The built program on the place's state folder, with heads of its own. */
export async function inPlace(place: Place, ...words: readonly string[]): Promise<Ended> {
  return await autonous([...words, "--state-dir", place.state_dir], { cwd: place.root, env: environmentOf(place) });
}

export function environmentOf({ path }: Place): Record<string, string> {
  return { XDG_STATE_HOME: join(path, "xdg-state") };
}

/** As if all that is over had been so for this long. */
export function agePlace(place: Place, days: number): void {
  if (existsSync(place.database)) {
    const database = new DatabaseSync(place.database);
    database.exec(`update inbox set finished_at = finished_at - ${days * DAY_MS} where finished_at is not null`);
    database.close();
  }
  const then = (Date.now() - days * DAY_MS) / 1000;
  for (const folder of ["runs", "undo"])
    if (existsSync(join(place.state_dir, folder)))
      for (const name of readdirSync(join(place.state_dir, folder), { recursive: true, encoding: "utf8" }))
        utimesSync(join(place.state_dir, folder, name), then, then);
}
