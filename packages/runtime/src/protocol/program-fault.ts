/** What Node.js throws where code that is loaded on demand is not what it was when the program started. */
// oxfmt-ignore
const LOAD_ERRORS: ReadonlySet<unknown> = new Set([
  "ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED", "ERR_PACKAGE_IMPORT_NOT_DEFINED",
  "ERR_INVALID_PACKAGE_CONFIG", "ERR_UNSUPPORTED_DIR_IMPORT", "ERR_UNKNOWN_FILE_EXTENSION", "ERR_DLOPEN_FAILED",
]);
const NO_EXPORT = /does not provide an export named/;
/** The code that loads on demand reads its own files too. */
const READ_ERRORS: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR"]);

const REPLACED = "the program was replaced or removed while it was running";
export const RESTART_HINT = "Restart Autonous: the files it was started from have changed.";
/** Stands for a path of the installation. */
const PROGRAM_FILE = "[program file]";

/** The folders that the program is installed in, by its own package and the ones that it imports. */
const FOLDERS = installationOf(import.meta.dirname);

/** Only by names: when it is asked, the files may be gone. */
export function installationOf(folder: string): readonly string[] {
  const [, own = folder] = /^(.*)\/(?:src|dist)(?:\/.*)?$/.exec(folder) ?? [];
  const [, modules] = /^(.*?\/node_modules)\//.exec(own) ?? [];
  if (modules !== undefined) return [modules];
  const packages = own.replace(/\/[^/]*$/, "");
  return [packages, `${packages.replace(/\/[^/]*$/, "")}/node_modules`];
}

/** Whether the program could not load its own code, because it was replaced under the running process. */
export function isProgramReplaced(error: unknown, folders = FOLDERS): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message, stack = "", path } = error as NodeJS.ErrnoException;
  if (READ_ERRORS.has(code)) return path !== undefined && isIn(path, folders);
  if (!LOAD_ERRORS.has(code) && !(error instanceof SyntaxError && NO_EXPORT.test(message))) return false;
  return isIn(message, folders) || isIn(stack, folders);
}

/**
 * The reason of an error that nobody foresaw, in words that may leave the machine: a chat learns nothing from paths of the
 * installation. `ToolError` has words of its own.
 */
export function faultReason(error: unknown, folders = FOLDERS): string {
  if (isProgramReplaced(error, folders)) return `${REPLACED}; restart it`;
  const message = error instanceof Error ? error.message : String(error);
  return folders.reduce((text, folder) => withoutPaths(text, folder), message);
}

function isIn(text: string, folders: readonly string[]): boolean {
  return folders.some((folder) => text.includes(`${folder}/`));
}

/** Up to what ends a path in a message: a quote, a bracket, a space. */
function withoutPaths(text: string, folder: string): string {
  const [before = "", ...after] = text.replaceAll("file:///", "/").split(`${folder}/`);
  return [before, ...after.map((each) => each.replace(/^[^\s'"`)\]]*/, ""))].join(PROGRAM_FILE);
}
