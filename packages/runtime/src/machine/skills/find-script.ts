import type { FoundScript, ScriptName, SkillEntry } from "../../contract/skills.ts";
import { ToolError } from "../../protocol/errors.ts";
import { isInScripts } from "../../skills/interpreter.ts";
import { missingProgram } from "./interpreters.ts";
import type { Loaded } from "./load.ts";

const MAX_NAMED = 20;
const MODULE = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
const MAIN = "__main__.py";

/**
 * Finds a script by name among the indexed files, so that no name can lead outside the skill. A folder with a
 * `__main__.py` is a Python package and runs as a module.
 */
export function findScript({ entry, missing }: Found, name: ScriptName): FoundScript {
  return "module" in name ? moduleOf(entry, name.module) : scriptAt({ entry, missing }, name.path);
}

type Found = Pick<Loaded, "entry" | "missing">;

function scriptAt({ entry: skill, missing }: Found, given: string): FoundScript {
  const path = given.replace(/^(?:\.\/+)+/, "").replace(/\/+$/, "");
  const script = skill.scripts.find((each) => each.path === path || each.path === `${path}/${MAIN}`);
  const module = script?.path.endsWith(`/${MAIN}`) === true ? dotted(script.path) : undefined;
  if (script !== undefined) return { skill, script, ...(module === undefined ? {} : { module }) };
  const cannot = `Cannot run ${JSON.stringify(given)} of the skill "${skill.name}"`;
  if (path.startsWith("/") || path.split("/").includes("..")) {
    const why = 'only files in its own "scripts" folders are run';
    throw new ToolError("PathTraversalBlocked", `${cannot}: ${why}`, { path: given });
  }
  const program = missing.get(path);
  if (program !== undefined) throw missingProgram(cannot, program);
  const why = skill.left_out.find((each) => each.path === path)?.why ?? notRunnable(skill, path);
  if (why !== undefined) throw new ToolError("InvalidArguments", `${cannot}: ${why}`, { path: given });
  throw noSuchScript(skill, cannot, { path: given });
}

function moduleOf(skill: SkillEntry, module: string): FoundScript {
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
