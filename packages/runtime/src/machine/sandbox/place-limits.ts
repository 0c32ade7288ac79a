import { ToolError } from "../../protocol/errors.ts";

/** Each costs one mount per command, about 0.1 ms. */
export const MAX_READ_ONLY = 512;
/** Takes about 10 s. A folder with more names is not a plausible workspace. */
export const MAX_NAMES = 5_000_000;

export function tooManyRuled(count: number): ToolError {
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: rules make ${count} paths read-only, and a sandbox supports at most ${MAX_READ_ONLY}`,
    { hint: "Deny writing to folders instead of single files: docs/** instead of docs/*.md." },
  );
}

export function tooLarge(roots: readonly string[]): ToolError {
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: ${roots.join(", ")} has more than ${MAX_NAMES} files and folders to search for paths to hide`,
    { hint: "Choose a smaller folder as the root." },
  );
}

export function unnamed(folder: string): ToolError {
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: "${folder}" has an entry whose name is not valid UTF-8, so the sandbox cannot inspect or hide it`,
    { path: folder, hint: "Rename it, or move it into a separate folder." },
  );
}

export function notHidden(path: string, why: string): ToolError {
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: cannot create the program's folder "${path}", so it cannot be hidden from the command (${why})`,
    { path, hint: "Create it, or choose a root that does not contain it." },
  );
}
