import { closeSync, mkdirSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { FoundScript, ReadyScript, RunProgram } from "../../contract/skills.ts";
import { ToolError } from "../../protocol/errors.ts";
import { HEAD_BYTES, waysToRun } from "../../skills/interpreter.ts";
import { copySkill } from "./copy-skill.ts";
import { findInterpreter, findWay, missingProgram, pathOutsideRoots } from "./interpreters.ts";
import type { InterpreterOptions } from "./interpreters.ts";
import type { Loaded } from "./load.ts";

export interface ScriptCall {
  /** The real path of the run's folder in the state folder. */
  readonly run_folder: string;
  readonly signal: AbortSignal;
  readonly run: RunProgram;
}

interface ReadyOptions extends ScriptCall {
  readonly interpreters: InterpreterOptions;
  /** The working folder. */
  readonly workspace: string;
}

/** Copies the skill and finds the script's interpreter. The caller closes it. */
export async function readyScript(loaded: Loaded, found: FoundScript, options: ReadyOptions): Promise<ReadyScript> {
  const { run_folder, signal, run, workspace } = options;
  const copy = await copySkill(loaded, join(run_folder, "skills"), signal);
  try {
    const command = commandFor(found, copy.folder, options.interpreters);
    const sandbox = join(run_folder, "sandbox");
    mkdirSync(sandbox, { recursive: true, mode: 0o700 });
    const folders = { sandbox, skill: copy.folder, workspace } as const;
    return {
      ...found,
      run: (args, { workdir, ...rest }) =>
        run(
          {
            run: [...command, ...args],
            cwd: folders[workdir],
            // Both are in the state folder, which is otherwise hidden from commands. The copy is removed after the
            // call.
            writable: [sandbox, copy.folder],
            // Published scripts import from the top of their skill; the copy is read-only, so no bytecode is written.
            environment: {
              PATH: pathOutsideRoots(options.interpreters),
              PYTHONPATH: copy.folder,
              PYTHONDONTWRITEBYTECODE: "1",
              SKILL_DIR: copy.folder,
            },
          },
          { ...rest, signal },
        ),
      close: () => copy.remove(),
    };
  } catch (error) {
    copy.remove();
    throw error;
  }
}

function commandFor(
  { skill, script: { path, executable }, module }: FoundScript,
  folder: string,
  options: InterpreterOptions,
): readonly [string, ...string[]] {
  const cannot = `Cannot run "${path}" of the skill "${skill.name}"`;
  const file = join(folder, path);
  if (module !== undefined) {
    const python = findInterpreter(PYTHON, options);
    if (python === undefined) throw missingProgram(cannot, PYTHON);
    return [python, "-c", RUN_MODULE, module];
  }
  const ways = waysToRun({ path, executable, head: headOf(file) });
  if ("refusal" in ways) {
    throw new ToolError("InvalidArguments", `${cannot}: ${ways.refusal}`, {
      path,
      hint: 'Make it executable, with a "#!" line, or name it by its language.',
    });
  }
  const way = findWay(ways, options);
  if (way === undefined) throw missingProgram(cannot, ways[0]?.program ?? path);
  const [program, ...args] = way.before;
  return program === undefined ? [file] : [program, ...args, file];
}

const PYTHON = "python3";
/**
 * `python3 -m` searches the working folder first, so a workspace with a folder "scripts" would run its own code instead
 * of the skill's. This does the same without that folder; the option -P does not exist in all Python versions.
 */
const RUN_MODULE =
  "import sys; sys.path = [each for each in sys.path if each not in ('', '.')]; import runpy; runpy._run_module_as_main(sys.argv.pop(1))";

function headOf(file: string): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  const fd = openSync(file, "r");
  try {
    return head.subarray(0, readSync(fd, head));
  } finally {
    closeSync(fd);
  }
}
