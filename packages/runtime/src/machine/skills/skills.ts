import { mkdirSync, readSync, openSync, closeSync } from "node:fs";
import { join } from "node:path";
import { TRUST_HINT } from "../../contract/skills.ts";
import type { ReadyScript, RunProgram, SkillEntry, SkillFile, SkillIndex, ToolSkills } from "../../contract/skills.ts";
import type { Places } from "../../policy/facts.ts";
import { ToolError } from "../../protocol/errors.ts";
import { HEAD_BYTES, howToRun } from "../../skills/interpreter.ts";
import { copySkill } from "./copy-skill.ts";
import { findSkill, indexSkills } from "./find-skills.ts";
import { findInterpreter } from "./interpreters.ts";
import type { IsTrusted, Loaded } from "./load.ts";
import { placesOfSkills } from "./places.ts";

export interface SkillsOptions {
  readonly workspace: Places;
  readonly cwd: string;
  /** Left out: nothing that came with the workspace is trusted. */
  readonly isTrusted?: IsTrusted | undefined;
  /** Default: this process's own. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

interface SkillCall {
  /** The real path of the run's own folder in the state folder. */
  readonly run_folder: string;
  readonly signal: AbortSignal;
  readonly run: RunProgram;
}

export interface Skills {
  /** Everything that is there, read anew. */
  index(signal?: AbortSignal): Promise<SkillIndex>;
  /** The handle of one call. */
  forCall(call: SkillCall): ToolSkills;
}

/** Skills of a workspace and of the person who works in it. Reads nothing before it is asked. */
export function createSkills(given: SkillsOptions): Skills {
  const { workspace, cwd, isTrusted = () => false, environment = process.env } = given;
  const { roots, home } = workspace;
  const options = { workspace, isTrusted, places: placesOfSkills({ roots, cwd, home, environment }) };
  return {
    index: (signal = new AbortController().signal) => indexSkills({ ...options, signal }),
    forCall: (call) => ({
      index: () => indexSkills({ ...options, signal: call.signal }),
      async read(reference) {
        const { entry, body } = await findSkill(reference, { ...options, signal: call.signal });
        refuseUntrusted(entry, `Cannot read the skill "${entry.name}"`);
        return { skill: entry, body };
      },
      async findScript(reference, relative_path) {
        const { entry } = await findSkill(reference, { ...options, signal: call.signal });
        return { skill: entry, script: scriptOf(entry, relative_path) };
      },
      async openScript(reference, relative_path) {
        const loaded = await findSkill(reference, { ...options, signal: call.signal });
        const script = scriptOf(loaded.entry, relative_path);
        return await readyScript(loaded, script, { ...call, roots, path: environment["PATH"] ?? "" });
      },
    }),
  };
}

function refuseUntrusted({ name, trusted }: SkillEntry, cannot: string): void {
  if (trusted) return;
  throw new ToolError(
    "ToolNotAllowed",
    `${cannot}: the skill came with the workspace, and no person has trusted it as it is now`,
    { skill: name, hint: TRUST_HINT },
  );
}

/** Found among the files of the index, so no path leads anywhere else. */
function scriptOf(skill: SkillEntry, relative_path: string): SkillFile {
  const { name, scripts, left_out } = skill;
  const path = relative_path.replace(/^(?:\.\/+)+/, "");
  const cannot = `Cannot run ${JSON.stringify(relative_path)} of the skill "${name}"`;
  refuseUntrusted(skill, cannot);
  const script = scripts.find((each) => each.path === path);
  if (script !== undefined) return script;
  if (path.startsWith("/") || path.split("/").includes("..")) {
    throw new ToolError("PathTraversalBlocked", `${cannot}: only what lies below its own "scripts" folder is run`, {
      path: relative_path,
    });
  }
  const why = left_out.find((each) => each.path === path)?.why;
  if (why !== undefined) throw new ToolError("InvalidArguments", `${cannot}: ${why}`, { path: relative_path });
  const known = scripts.slice(0, MAX_NAMED).map((each) => each.path);
  const instead =
    known.length === 0
      ? "it has no scripts"
      : `it is none of its scripts, which are ${known.map((each) => JSON.stringify(each)).join(", ")}${scripts.length > MAX_NAMED ? " and others" : ""}`;
  throw new ToolError("NotFound", `${cannot}: ${instead}`, {
    path: relative_path,
    hint: 'Name a file below "scripts/" by its path in the skill\'s folder.',
  });
}

const MAX_NAMED = 20;

interface ReadyOptions extends SkillCall {
  readonly roots: readonly string[];
  readonly path: string;
}

async function readyScript(loaded: Loaded, script: SkillFile, options: ReadyOptions): Promise<ReadyScript> {
  const { run_folder, signal, run } = options;
  const { entry } = loaded;
  const copy = await copySkill(loaded, join(run_folder, "skills"), signal);
  try {
    const file = join(copy.folder, script.path);
    const command = commandFor({ skill: entry.name, path: script.path, file, executable: script.executable }, options);
    const sandbox = join(run_folder, "sandbox");
    mkdirSync(sandbox, { recursive: true, mode: 0o700 });
    return {
      skill: entry,
      script,
      run: (args, { workdir, ...rest }) =>
        run(
          {
            run: [...command, ...args],
            cwd: workdir === "skill" ? copy.folder : sandbox,
            // Both lie in the state folder, which commands do not see otherwise. The copy is gone after the call.
            writable: [sandbox, copy.folder],
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

interface Copied {
  readonly skill: string;
  readonly path: string;
  /** Where it is now. */
  readonly file: string;
  readonly executable: boolean;
}

function commandFor(
  { skill, path, file, executable }: Copied,
  where: { readonly roots: readonly string[]; readonly path: string },
): readonly [string, ...string[]] {
  const cannot = `Cannot run "${path}" of the skill "${skill}"`;
  const how = howToRun({ path, executable, head: headOf(file) });
  if (how === "itself") return [file];
  if (typeof how === "object") {
    throw new ToolError("InvalidArguments", `${cannot}: ${how.refusal}`, {
      path,
      hint: 'Make it executable, with a "#!" line, or name it by its language.',
    });
  }
  const program = findInterpreter(how, where);
  if (program !== undefined) return [program, file];
  throw new ToolError("IOError", `${cannot}: ${how} is missing`, {
    program: how,
    hint: `Install ${how}, or do without the script.`,
  });
}

function headOf(file: string): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  const fd = openSync(file, "r");
  try {
    return head.subarray(0, readSync(fd, head));
  } finally {
    closeSync(fd);
  }
}
