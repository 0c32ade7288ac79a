import { closeSync } from "node:fs";
import type { ToolSearch } from "../../contract/search.ts";
import type { ResolvedTouch, WorkspaceContext } from "../../policy/decide.ts";
import { placesOf } from "../../policy/skill-places.ts";
import { ToolError } from "../../protocol/errors.ts";
import { fdOf, rgOf } from "./engines.ts";
import { searchNames } from "./names.ts";
import { openPlace } from "./place.ts";
import { searchText } from "./text.ts";

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
