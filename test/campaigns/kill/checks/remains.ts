import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RuntimeEvent } from "@autonous/runtime";
import { processesOf } from "../../../support/processes.ts";
import { comes } from "../stage.ts";
import { ROOT_NAMES, TRACES } from "../world.ts";
import type { Remains } from "./found.ts";

/** The chains are intact, and the files of the runs say what the tables say. */
export async function checkRecord({ stage, events, query }: Remains): Promise<string[]> {
  const { serving, world } = stage;
  const problems: string[] = [];
  const verified = await serving.command(["audit", "verify"]);
  if (verified.code !== 0)
    problems.push(`autonous audit verify exited with ${verified.code}: ${verified.said.slice(0, 2000)}`);
  for (const [run_id, own] of Map.groupBy(events, (event) => event.run_id)) {
    const file = join(world.state_dir, "runs", run_id, "events.jsonl");
    const written = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
    const wanted = own.map(({ hash, seq }) => `${seq} ${hash}`);
    const found = written.map((line) => JSON.parse(line) as RuntimeEvent).map(({ hash, seq }) => `${seq} ${hash}`);
    if (found.join() !== wanted.join())
      problems.push(`"${file}" has ${found.length} events, the table ${wanted.length}, or they differ`);
  }
  for (const [pragma, wanted] of [
    ["integrity_check", "ok"],
    ["foreign_key_check", ""],
  ] as const) {
    const said = query(`pragma ${pragma}`)
      .map((row) => Object.values(row).join(" "))
      .join("; ");
    if (said !== wanted) problems.push(`pragma ${pragma}: ${said}`);
  }
  return problems;
}

/** No lane is held, and none has something to do. */
export function checkLanes({ query }: Remains): string[] {
  const held = query("select lane, worker, ready_at from lanes where worker is not null or ready_at is not null");
  return held.map(
    (row) => `Lane ${String(row["lane"])} is held by ${String(row["worker"])}, or ready at ${String(row["ready_at"])}`,
  );
}

/** Names that only ever belong to something unfinished. */
const UNFINISHED = /\.(?:tmp|new|part|old)$|^\.autonous|~$/;

/** Nothing temporary is left in the root or in the state folder. */
export function checkFiles({ stage }: Remains): string[] {
  const { root, state_dir } = stage.world;
  const strange = readdirSync(root).filter((name) => !ROOT_NAMES.includes(name));
  const inRoot = TRACES.flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)));
  const inState = readdirSync(state_dir, { recursive: true, encoding: "utf8" });
  const unfinished = [...inRoot, ...inState].filter((path) => path.split("/").some((name) => UNFINISHED.test(name)));
  return [...strange, ...unfinished].map((name) => `"${name}" was left behind`);
}

const LEFT_MS = 2000;

/** No process of the service, of a worker or of a command is left. */
export async function checkProcesses({ stage }: Remains): Promise<string[]> {
  if (await comes(() => processesOf(stage.world).length === 0, LEFT_MS)) return [];
  return processesOf(stage.world).map(({ pid, words }) => `Process ${pid} is still running: ${words.slice(0, 200)}`);
}
