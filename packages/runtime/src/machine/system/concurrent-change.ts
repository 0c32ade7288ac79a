import { ToolError } from "../../protocol/errors.ts";

/** Another process changed a file during a change, which is then planned again from the current content. */
export class ConcurrentChangeError extends Error {
  readonly path: string;

  constructor(path: string) {
    super(`"${path}" was changed by another process`);
    this.name = "ConcurrentChangeError";
    this.path = path;
  }
}

export function realPathChanged(path: string, doing = "change"): ToolError {
  return new ToolError(
    "PathTraversalBlocked",
    `Cannot ${doing} "${path}": its real path changed since it was checked`,
    { path },
  );
}
