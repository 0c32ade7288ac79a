/** What runs a script that is not executable itself, by the end of its name. */
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
  /** Its first bytes, at least `HEAD_BYTES` of them where it has as many. */
  readonly head: Buffer;
}

/**
 * A way to execute a script. `itself`: the system can execute it, by the program that its "#!" line names, if any.
 * Otherwise by a program, with arguments before the script. A program is a name on the PATH, or an absolute path.
 */
export interface HowToRun {
  readonly itself: boolean;
  readonly program?: string;
  readonly args: readonly string[];
}

/** As much as the kernel reads of a "#!" line. */
export const HEAD_BYTES = 256;

const ELF = Buffer.from("\x7fELF", "latin1");
const LINE_OF_INTERPRETER = /^#![ \t]*(\/[^\n]*)/;

/**
 * How a script is executed without a shell in between: by its own "#!" line where it is executable, else by the
 * interpreter of its ending, else by its "#!" line; in this order, as far as the programs are installed. What none of
 * them says is refused with a clause, for a shell would guess.
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
  // Other options and variables of env are for env itself to read.
  return name === undefined || /^-|=/.test(name) ? { program, args: rest } : { program: name, args };
}

function interpreterOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  const ending = dot <= 0 ? "" : name.slice(dot).toLowerCase();
  return Object.hasOwn(INTERPRETERS, ending) ? INTERPRETERS[ending as keyof typeof INTERPRETERS] : undefined;
}

/** A file of a skill lies where scripts do: in a folder "scripts", at the top or further down. */
export function isInScripts(path: string): boolean {
  return /(?:^|\/)scripts\//.test(path);
}

/** Makes a folder a package of Python, and does nothing when it is run. */
const PACKAGE_FILE = /(?:^|\/)__init__\.py$/;
const PYTHON = /\.py$/i;
const TEXT_IN_LINES = /("""|''')[\s\S]*?\1/g;
/** A module that says itself that it is not to be run. */
const NOT_TO_BE_RUN = /^if __name__ == ["']__main__["']:\s*raise\b.*/m;
const DEFINITION = /^(?:def|class|async def)\b/m;
/** At the left edge, what a module of nothing but imports, definitions and values has. */
const OF_MODULES = /^(?:def|class|async def|import|from|@|\)|\]|\}|#|["']|[\w.]+(?:\s*:[^=]+)?\s*=[^=])/;

/** A longer line is judged by its beginning, so that no text takes long. */
const MAX_LINE = 200;

/**
 * A module that others import: running it would do nothing. Told by its text: it has no `__main__`, and nothing but
 * imports, definitions and values at the left edge. A file that leaves a doubt counts as a program.
 */
export function isPythonModule(path: string, given: string): boolean {
  if (PACKAGE_FILE.test(path)) return true;
  const text = given.replace(NOT_TO_BE_RUN, "");
  if (!PYTHON.test(path) || text.startsWith("#!") || text.includes("__main__") || !DEFINITION.test(text)) return false;
  const edge = text.replaceAll(TEXT_IN_LINES, '""').match(/^[^\s].*$/gm) ?? [];
  return edge.every((line) => OF_MODULES.test(line.slice(0, MAX_LINE)));
}
