import { ToolError } from "../../protocol/errors.ts";

/** Somebody else changed a file while a change was being made: it is planned again, with what is there now. */
export class ChangedMeanwhile extends Error {
  readonly path: string;

  constructor(path: string) {
    super(`"${path}" was changed by somebody else`);
    this.name = "ChangedMeanwhile";
    this.path = path;
  }
}

export function leadsElsewhere(path: string, doing = "change"): ToolError {
  return new ToolError(
    "PathTraversalBlocked",
    `Cannot ${doing} "${path}": it leads elsewhere than when it was checked`,
    { path },
  );
}
