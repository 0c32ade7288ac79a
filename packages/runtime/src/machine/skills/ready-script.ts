import { closeSync, mkdirSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { SkillScript, ReadyScript, RunProgram, ScriptName, SkillEntry } from "../../contract/skills.ts";
import { ToolError } from "../../protocol/errors.ts";
import { HEAD_BYTES, waysToRun, isInScripts } from "../../skills/interpreter.ts";
import { copySkill } from "./copy-skill.ts";
import { findInterpreter, findWay, missingProgram, pathOutsideRoots } from "./interpreters.ts";
import type { InterpreterOptions } from "./interpreters.ts";
import type { LoadedSkill } from "./load.ts";

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
export async function readyScript(
  loaded: LoadedSkill,
  found: SkillScript,
  options: ReadyOptions,
): Promise<ReadyScript> {
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
  { skill, script: { path, executable }, module }: SkillScript,
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

const MAX_NAMED = 20;
const MODULE = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
const MAIN = "__main__.py";

/**
 * Finds a script by name among the indexed files, so that no name can lead outside the skill. A folder with a
 * `__main__.py` is a Python package and runs as a module.
 */
export function findScript({ entry, missing }: SkillScripts, name: ScriptName): SkillScript {
  return "module" in name ? moduleOf(entry, name.module) : scriptAt({ entry, missing }, name.path);
}

type SkillScripts = Pick<LoadedSkill, "entry" | "missing">;

function scriptAt({ entry: skill, missing }: SkillScripts, givenName: string): SkillScript {
  const path = givenName.replace(/^(?:\.\/+)+/, "").replace(/\/+$/, "");
  const script = skill.scripts.find((each) => each.path === path || each.path === `${path}/${MAIN}`);
  const module = script?.path.endsWith(`/${MAIN}`) === true ? dotted(script.path) : undefined;
  if (script !== undefined) return { skill, script, ...(module === undefined ? {} : { module }) };
  const cannot = `Cannot run ${JSON.stringify(givenName)} of the skill "${skill.name}"`;
  if (path.startsWith("/") || path.split("/").includes("..")) {
    const why = 'only files in its own "scripts" folders are run';
    throw new ToolError("PathTraversalBlocked", `${cannot}: ${why}`, { path: givenName });
  }
  const program = missing.get(path);
  if (program !== undefined) throw missingProgram(cannot, program);
  const why = skill.left_out.find((each) => each.path === path)?.why ?? notRunnable(skill, path);
  if (why !== undefined) throw new ToolError("InvalidArguments", `${cannot}: ${why}`, { path: givenName });
  throw noSuchScript(skill, cannot, { path: givenName });
}

function moduleOf(skill: SkillEntry, module: string): SkillScript {
  const cannot = `Cannot run the module ${JSON.stringify(module)} of the skill "${skill.name}"`;
  if (!MODULE.test(module)) {
    throw new ToolError("InvalidArguments", `${cannot}: a module name is dotted words, such as scripts.report`);
  }
  const path = module.replaceAll(".", "/");
  const script = skill.scripts.find((each) => each.path === `${path}.py` || each.path === `${path}/${MAIN}`);
  if (script !== undefined) return { skill, script, module };
  throw noSuchScript(skill, cannot, { module });
}

/** `scripts/pkg/__main__.py` is the module `scripts.pkg`, unless Python cannot import a folder's name. */
function dotted(path: string): string | undefined {
  const module = path.slice(0, -MAIN.length - 1).replaceAll("/", ".");
  return MODULE.test(module) ? module : undefined;
}

/** Why an existing file is not a runnable script. */
function notRunnable({ files }: SkillEntry, path: string): string | undefined {
  if (!files.some((each) => each.path === path)) return undefined;
  if (!isInScripts(path)) return 'it is not in a "scripts" folder';
  return "it is not a program: it has no known interpreter, or other scripts import it";
}

function noSuchScript({ scripts }: SkillEntry, cannot: string, details: object): ToolError {
  const known = scripts.slice(0, MAX_NAMED).map((each) => JSON.stringify(each.path));
  const more = scripts.length > MAX_NAMED ? " and others" : "";
  const instead =
    known.length === 0 ? "it has no scripts" : `not one of its scripts, which are ${known.join(", ")}${more}`;
  const hint = "Name one of the skill's scripts by its path in the skill's folder.";
  return new ToolError("NotFound", `${cannot}: ${instead}`, { ...details, hint });
}
