import { hash } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { userStateFolder } from "./journal/heads.ts";
import { resolvePath } from "./machine/files/resolve.ts";

export interface StateWish {
  /** The working folder: what the automatic folder is named after, and a relative name is relative to. */
  readonly workspace: string;
  /** A folder that the person or the host has named. Left out: the automatic one. */
  readonly state_dir?: string | undefined;
  readonly environment?: NodeJS.ProcessEnv;
}

/**
 * Where the state of a workspace is: in the folder that was named, else in the user's state directory, where nothing
 * that comes with a workspace can put anything. Links above the folder are followed; its own name is kept. Makes nothing.
 */
export function locateState({ workspace, state_dir, environment = process.env }: StateWish): string {
  const path = state_dir === undefined ? automaticFolder(workspace, environment) : resolve(workspace, state_dir);
  return join(resolvePath(dirname(path), "/").real, basename(path));
}

const KEY_DIGITS = 16;
const MAX_NAME = 40;

/** `<name>-<key>`: the name for people, the key for the real path. No other entry of that directory ends in a key. */
function automaticFolder(workspace: string, environment: NodeJS.ProcessEnv): string {
  const { real } = resolvePath(workspace, "/");
  const name = basename(real)
    .replace(/[^A-Za-z0-9._-]/g, "_")
    .replace(/^[.-]+/, "")
    .slice(0, MAX_NAME);
  const key = hash("sha256", real, "hex").slice(0, KEY_DIGITS);
  return join(userStateFolder(environment), `${name === "" ? "workspace" : name}-${key}`);
}
