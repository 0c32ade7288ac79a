import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import { ToolError } from "../protocol/errors.ts";

/**
 * The user's home, the base of our state and of sensitive paths. Throws if HOME is not absolute: state would then go to
 * another folder with each working folder, and `~/.ssh` would not be protected.
 */
export function homeFolder(): string {
  const home = homedir();
  if (isAbsolute(home)) return home;
  throw new ToolError("InvalidArguments", `Cannot find the home folder: HOME is "${home}", not an absolute path`, {
    hint: "Set HOME to an absolute path, or unset it to use the one of your account.",
  });
}
