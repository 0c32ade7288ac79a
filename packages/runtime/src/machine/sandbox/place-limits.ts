import { ToolError } from "../../protocol/errors.ts";

/** Each costs a mount for each command, some 0.1 ms. */
export const MOST_READ_ONLY = 512;
/** Some 10 s. A folder with more in it is no workspace. */
export const MOST_NAMES = 5_000_000;

export function tooManyRuled(count: number): ToolError {
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: rules make ${count} paths read-only, and a sandbox takes at most ${MOST_READ_ONLY}`,
    { hint: "Deny writing to folders instead of single files: docs/** instead of docs/*.md." },
  );
}

export function tooLarge(roots: readonly string[]): ToolError {
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: ${roots.join(", ")} has more than ${MOST_NAMES} files and folders to look through for what has to be hidden`,
    { hint: "Choose a smaller folder as the root." },
  );
}

export function unnamed(folder: string): ToolError {
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: "${folder}" has an entry whose name is not valid UTF-8 and which the sandbox has to look into or hide`,
    { path: folder, hint: "Rename it, or move it into a folder of its own." },
  );
}

export function notHidden(path: string, why: string): ToolError {
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: the folder "${path}" of this program cannot be made, and so not hidden from the command (${why})`,
    { path, hint: "Make it, or choose a root that does not hold it." },
  );
}
