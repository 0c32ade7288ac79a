/** Errors of Node.js when lazily loaded code has changed since the program started. */
// oxfmt-ignore
const LOAD_ERRORS: ReadonlySet<unknown> = new Set([
  "ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED", "ERR_PACKAGE_IMPORT_NOT_DEFINED",
  "ERR_INVALID_PACKAGE_CONFIG", "ERR_UNSUPPORTED_DIR_IMPORT", "ERR_UNKNOWN_FILE_EXTENSION", "ERR_DLOPEN_FAILED",
]);
const NO_EXPORT = /does not provide an export named/;
/** Lazily loaded code reads its own files too. */
const READ_ERRORS: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR"]);

const REPLACED = "the program was replaced or removed while it was running";
export const RESTART_HINT = "Restart Autonous: the files it was started from have changed.";
/** Replaces a path of the installation. */
const PROGRAM_FILE = "[program file]";

/** The folders of the installation: its own package and those that it imports. */
const FOLDERS = installationOf(import.meta.dirname);

/** Derived from names only: the files may already be gone. */
export function installationOf(folder: string): readonly string[] {
  const [, own = folder] = /^(.*)\/(?:src|dist)(?:\/.*)?$/.exec(folder) ?? [];
  const [, modules] = /^(.*?\/node_modules)\//.exec(own) ?? [];
  if (modules !== undefined) return [modules];
  const packages = own.replace(/\/[^/]*$/, "");
  return [packages, `${packages.replace(/\/[^/]*$/, "")}/node_modules`];
}

/** Whether the program could not load its own code, because its files were replaced while it runs. */
export function isProgramReplaced(error: unknown, folders = FOLDERS): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message, stack = "", path } = error as NodeJS.ErrnoException;
  if (READ_ERRORS.has(code)) return path !== undefined && isIn(path, folders);
  if (!LOAD_ERRORS.has(code) && !(error instanceof SyntaxError && NO_EXPORT.test(message))) return false;
  return isIn(message, folders) || isIn(stack, folders);
}

/**
 * The reason of an unexpected error, safe to send elsewhere: without paths of the installation. A `ToolError` has its
 * own message.
 */
export function faultReason(error: unknown, folders = FOLDERS): string {
  if (isProgramReplaced(error, folders)) return `${REPLACED}; restart it`;
  const message = error instanceof Error ? error.message : String(error);
  return folders.reduce((text, folder) => withoutPaths(text, folder), message);
}

function isIn(text: string, folders: readonly string[]): boolean {
  return folders.some((folder) => text.includes(`${folder}/`));
}

/** Cuts up to the end of the path in a message: a quote, a bracket or a space. */
function withoutPaths(text: string, folder: string): string {
  const [before = "", ...after] = text.replaceAll("file:///", "/").split(`${folder}/`);
  return [before, ...after.map((each) => each.replace(/^[^\s'"`)\]]*/, ""))].join(PROGRAM_FILE);
}
