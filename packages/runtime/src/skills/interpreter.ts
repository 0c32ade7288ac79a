/** The interpreter of a script that is not executable itself, by file name extension. */
// oxfmt-ignore
const INTERPRETERS = {
  ".sh":   "bash",
  ".bash": "bash",
  ".zsh":  "zsh",
  ".py":   "python3",
  ".js":   "node",
  ".mjs":  "node",
  ".cjs":  "node",
  ".ts":   "node",
  ".mts":  "node",
  ".rb":   "ruby",
  ".pl":   "perl",
  ".php":  "php",
  ".lua":  "lua",
  ".r":    "Rscript",
} as const satisfies Record<string, string>;

export interface ScriptFacts {
  /** With "/" between names. */
  readonly path: string;
  readonly executable: boolean;
  /** Its first bytes, at least `HEAD_BYTES` of them if it has as many. */
  readonly head: Buffer;
}

/**
 * A way to execute a script. `itself`: the system can execute it, through its "#!" line if it has one. Otherwise a
 * program, with arguments before the script. A program is a name on the PATH, or an absolute path.
 */
export interface HowToRun {
  readonly itself: boolean;
  readonly program?: string;
  readonly args: readonly string[];
}

/** The kernel reads this much of a "#!" line. */
export const HEAD_BYTES = 256;

const ELF = Buffer.from("\x7fELF", "latin1");
const LINE_OF_INTERPRETER = /^#![ \t]*(\/[^\n]*)/;

/**
 * How a script is executed without a shell: by its own "#!" line if it is executable, else by the interpreter for its
 * extension, else by its "#!" line; in this order, as far as the programs are installed. A script without any of these
 * is refused with a clause, because a shell would guess.
 */
export function waysToRun({ path, executable, head }: ScriptFacts): readonly HowToRun[] | { readonly refusal: string } {
  const line = LINE_OF_INTERPRETER.exec(head.toString("latin1"))?.[1];
  const named = line === undefined ? undefined : readLine(line);
  const isProgram = executable && head.subarray(0, ELF.length).equals(ELF);
  const obeysLine = executable && named !== undefined && line?.endsWith("\r") !== true;
  const program = interpreterOf(path);
  const ways: readonly HowToRun[] = [
    ...(isProgram ? [{ itself: true, args: [] }] : []),
    ...(obeysLine ? [{ itself: true, ...named }] : []),
    ...(program === undefined ? [] : [{ itself: false, program, args: [] }]),
    ...(named === undefined || obeysLine ? [] : [{ itself: false, ...named }]),
  ];
  if (ways.length > 0) return ways;
  if (executable) return { refusal: 'it is executable, but has no "#!" line that names an interpreter' };
  return { refusal: `it has no "#!" line, and its name ends in none of ${Object.keys(INTERPRETERS).join(", ")}` };
}

/** `/usr/bin/env -S deno run` is the program "deno" with the argument "run". */
function readLine(line: string): Pick<HowToRun, "program" | "args"> | undefined {
  const [program, ...rest] = line.trim().split(/[ \t]+/);
  if (program === undefined || program === "/") return undefined;
  if (!program.endsWith("/env")) return { program, args: rest };
  const [name, ...args] = rest.filter((word, at) => at > 0 || (word !== "-S" && word !== "--split-string"));
  // Other options and variables of env are left to env.
  return name === undefined || /^-|=/.test(name) ? { program, args: rest } : { program: name, args };
}

function interpreterOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  const ending = dot <= 0 ? "" : name.slice(dot).toLowerCase();
  return Object.hasOwn(INTERPRETERS, ending) ? INTERPRETERS[ending as keyof typeof INTERPRETERS] : undefined;
}

/** A script file of a skill is in a folder "scripts", at the top or deeper. */
export function isInScripts(path: string): boolean {
  return /(?:^|\/)scripts\//.test(path);
}

/** Makes a folder a Python package, and does nothing when run. */
const PACKAGE_FILE = /(?:^|\/)__init__\.py$/;
const PYTHON = /\.py$/i;
const TEXT_IN_LINES = /("""|''')[\s\S]*?\1/g;
/** A module that declares that it must not be run. */
const NOT_TO_BE_RUN = /^if __name__ == ["']__main__["']:\s*raise\b.*/m;
const DEFINITION = /^(?:def|class|async def)\b/m;
/** At the left margin, the only statements of a module with just imports, definitions and values. */
const OF_MODULES = /^(?:def|class|async def|import|from|@|\)|\]|\}|#|["']|[\w.]+(?:\s*:[^=]+)?\s*=[^=])/;

/** A longer line is judged by its beginning, so that no text takes long. */
const MAX_LINE = 200;

/**
 * A module for import: running it would do nothing. Recognized by its text: it has no `__main__`, and only imports,
 * definitions and values at the left margin. In doubt a file counts as a program.
 */
export function isPythonModule(path: string, given: string): boolean {
  if (PACKAGE_FILE.test(path)) return true;
  const text = given.replace(NOT_TO_BE_RUN, "");
  if (!PYTHON.test(path) || text.startsWith("#!") || text.includes("__main__") || !DEFINITION.test(text)) return false;
  const edge = text.replaceAll(TEXT_IN_LINES, '""').match(/^[^\s].*$/gm) ?? [];
  return edge.every((line) => OF_MODULES.test(line.slice(0, MAX_LINE)));
}
