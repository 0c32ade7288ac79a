/** What runs a script that is not executable itself, by the end of its name. */
// oxfmt-ignore
const INTERPRETERS = {
  ".sh":   "bash",
  ".bash": "bash",
  ".py":   "python3",
  ".js":   "node",
  ".mjs":  "node",
  ".cjs":  "node",
  ".ts":   "node",
  ".mts":  "node",
  ".rb":   "ruby",
  ".pl":   "perl",
} as const satisfies Record<string, string>;

export type Interpreter = (typeof INTERPRETERS)[keyof typeof INTERPRETERS];

export interface ScriptFacts {
  /** With "/" between names. */
  readonly path: string;
  readonly executable: boolean;
  /** Its first bytes, at least `HEAD_BYTES` of them where it has so many. */
  readonly head: Buffer;
}

/** `itself`: the system can execute it. A refusal is a clause about the file. */
export type HowToRun = Interpreter | "itself" | { readonly refusal: string };

/** As much as the kernel reads of a "#!" line. */
export const HEAD_BYTES = 256;

const ELF = Buffer.from("\x7fELF", "latin1");
const LINE_OF_INTERPRETER = /^#![ \t]*\/[^\n]*/;

/**
 * How a script is executed without a shell in between: by its own "#!" line where it is executable, else by the
 * interpreter of its ending. What neither says is refused, for a shell would guess.
 */
export function howToRun({ path, executable, head }: ScriptFacts): HowToRun {
  const line = LINE_OF_INTERPRETER.exec(head.toString("latin1"))?.[0];
  const endsInReturn = line?.endsWith("\r") === true;
  const isProgram = head.subarray(0, ELF.length).equals(ELF);
  if (executable && (isProgram || (line !== undefined && !endsInReturn))) return "itself";
  const interpreter = interpreterOf(path);
  if (interpreter !== undefined) return interpreter;
  if (executable && endsInReturn)
    return { refusal: 'its "#!" line ends in a carriage return, and no system finds such an interpreter' };
  if (executable) return { refusal: 'it is executable, but has no "#!" line that names an interpreter' };
  return { refusal: `it is not executable, and its name ends in none of ${Object.keys(INTERPRETERS).join(", ")}` };
}

function interpreterOf(path: string): Interpreter | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  const ending = dot <= 0 ? "" : name.slice(dot).toLowerCase();
  return Object.hasOwn(INTERPRETERS, ending) ? INTERPRETERS[ending as keyof typeof INTERPRETERS] : undefined;
}
