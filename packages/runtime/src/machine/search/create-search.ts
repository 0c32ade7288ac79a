import { closeSync } from "node:fs";
import type { ToolSearch, SearchName, SearchNames, NamesQuery } from "../../contract/search.ts";
import type { ResolvedTouch, WorkspaceContext } from "../../policy/decide.ts";
import { placesOf } from "../../policy/paths/skill-places.ts";
import { ToolError } from "../../protocol/errors.ts";
import { fdOf, rgOf } from "./engines.ts";
import { openPlace } from "./place.ts";
import { searchText } from "./text.ts";
import type { EntryKind } from "../../contract/context.ts";
import { kindOf, procPath } from "../system/handle.ts";
import { startEngine } from "../processes/engine.ts";
import { PROGRAMS } from "../processes/programs.ts";
import { readErrorsOf } from "./obstacles.ts";
import type { Fd } from "./engines.ts";
import { decodeKey, folderOf } from "../system/keys.ts";
import { obstaclesIn } from "./obstacles.ts";
import { Picker } from "./picker.ts";
import { planNames } from "./plan-names.ts";
import type { NamesPlan } from "./plan-names.ts";
import type { SearchPlace } from "./place.ts";
import { UnchangedFolders } from "./unchanged-folders.ts";
import { VerifiedTree } from "./verified-tree.ts";
import type { SnapshotOptions } from "./verified-tree.ts";

export interface SearchOptions {
  /** The paths this call may access, with the real paths that were checked. */
  readonly touches: readonly ResolvedTouch[];
  readonly workspace: WorkspaceContext;
  readonly signal: AbortSignal;
  /** Why an entry below a declared folder may not be read; undefined if it may. */
  readonly judgeBelow: (real: string) => string | undefined;
}

/** The Search handle of one call. */
export function createToolSearch({ touches, workspace, signal, judgeBelow }: SearchOptions): ToolSearch {
  function declared(path: string): ResolvedTouch {
    const touch = touches.find((each) => each.path === path && (each.access === "read" || each.access === "list"));
    if (touch === undefined) {
      throw new ToolError("PathTraversalBlocked", `Cannot search "${path}": the call did not declare this access`, {
        path,
      });
    }
    return touch;
  }

  return {
    async *text(path, query) {
      const rg = await rgOf(workspace);
      const touch = declared(path);
      const places = placesOf(touch, workspace);
      const place = openPlace(touch, places);
      try {
        yield* searchText(place, query, { rg, signal, workspace: places, judgeBelow });
      } finally {
        closeSync(place.fd);
      }
    },

    async names(path, query) {
      const rg = await rgOf(workspace);
      const fd = query.kind === "file" ? undefined : await fdOf(workspace); // rg lists files
      const touch = declared(path);
      const places = placesOf(touch, workspace);
      const place = openPlace(touch, places);
      try {
        if (place.kind === "file") {
          throw new ToolError("InvalidArguments", `Cannot search for names in "${path}": it is not a folder`, { path });
        }
        return await searchNames(place, query, { rg, fd, signal, workspace: places, judgeBelow });
      } finally {
        closeSync(place.fd);
      }
    },
  };
}

interface NamesOptions extends Pick<SnapshotOptions, "workspace" | "judgeBelow"> {
  readonly rg: string;
  readonly fd: Fd | undefined;
  readonly signal: AbortSignal;
}

/** The matching names below a folder. If an engine turns out to be unable to answer the query, the next one runs. */
async function searchNames(place: SearchPlace, query: NamesQuery, options: NamesOptions): Promise<SearchNames> {
  const tree = new VerifiedTree({ top: place.real, still: new UnchangedFolders(place.fd), ...options });
  try {
    for (const plan of planNames(place.real, query, options)) {
      const found = await runPlan(plan, { place, query, tree, signal: options.signal });
      if (found !== undefined) return found;
    }
  } finally {
    tree.forget();
  }
  const { install } = PROGRAMS.fd;
  throw new ToolError("IOError", `Cannot find links: fd is not installed; install it with "${install}"`, {
    program: "fd",
    install,
  });
}

interface RunOptions {
  readonly place: SearchPlace;
  readonly query: NamesQuery;
  readonly tree: VerifiedTree;
  readonly signal: AbortSignal;
}

/** Undefined if the engine turned out to be unable. */
async function runPlan(plan: NamesPlan, { place, query, tree, signal }: RunOptions): Promise<SearchNames | undefined> {
  const findObstacle = obstaclesIn(place, { tree, signal });
  const engine = startEngine({ program: plan.program, args: plan.args, cwd: procPath(place.fd), signal, findObstacle });
  const picker = new Picker(plan, query, tree);
  const notes = [...plan.notes];
  let state: ReturnType<Picker["take"]> = "go on";
  try {
    let rest = "";
    for await (const piece of engine.output) {
      const names = `${rest}${piece.toString("latin1")}`.split("\0");
      rest = names.pop() ?? "";
      state = picker.take(names);
      if (state !== "go on") break;
    }
    if (state === "unable") return undefined;
    if (state === "go on") {
      const end = await engine.ended;
      signal.throwIfAborted();
      if (end.code === null) {
        throw new ToolError("IOError", `Cannot search: the engine ended unexpectedly (${end.signal})`, {
          reason: end.signal,
        });
      }
      notes.push(...readErrorsOf(end.stderr, tree));
    }
  } finally {
    await engine.stop();
  }
  return { ...finish(picker, { query, plan, tree }), hidden: picker.hidden, engine: plan.engine, notes };
}

interface FinishOptions {
  readonly query: NamesQuery;
  readonly plan: NamesPlan;
  readonly tree: VerifiedTree;
}

/** Examines each name only now, when few are left. */
function finish(picker: Picker, { query, plan, tree }: FinishOptions): Pick<SearchNames, "entries" | "next"> {
  const { names, more } = picker.result();
  const entries: SearchName[] = [];
  tree.forget();
  for (const [index, { key, rank }] of names.entries()) {
    const folder = folderOf(key);
    const isAlone = [names[index - 1], names[index + 1]].every(
      (each) => each === undefined || folderOf(each.key) !== folder,
    );
    const kind = plan.onlyFiles && !isAlone && tree.isStill(key) ? "file" : kindAt(key, tree, isAlone);
    if (kind === undefined || (query.kind !== undefined && kind !== query.kind)) continue;
    entries.push({ path: decodeKey(key), kind, rank });
  }
  return { entries, next: more ? names.at(-1)?.rank : undefined };
}

function kindAt(key: string, tree: VerifiedTree, isAlone: boolean): EntryKind | undefined {
  const stats = isAlone ? tree.lookAtAlone(key) : tree.lookAt(key);
  return stats && kindOf(stats);
}
