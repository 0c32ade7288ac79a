import { TRUST_HINT } from "../../contract/skills.ts";
import type { SkillEntry, SkillIndex, ToolSkills } from "../../contract/skills.ts";
import type { Places } from "../../policy/facts.ts";
import { ToolError } from "../../protocol/errors.ts";
import { findOwnAround, findSkill, indexSkills } from "./find-skills.ts";
import type { IsTrusted } from "./load.ts";
import { placesOfSkills } from "./places.ts";
import { openSkillFile } from "./open-skill-file.ts";
import { readyScript } from "./ready-script.ts";
import type { ScriptCall } from "./ready-script.ts";
import { findScript } from "./find-script.ts";

export interface SkillsOptions {
  readonly workspace: Places;
  readonly cwd: string;
  /** Default: no skill of the workspace is trusted. */
  readonly isTrusted?: IsTrusted | undefined;
  /** Default: the environment of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface Skills {
  /** Reads all skills again. */
  index(signal?: AbortSignal): Promise<SkillIndex>;
  /** The real folder of the user's own skill that contains a real path. */
  ownAround(real: string): Promise<string | undefined>;
  /** The handle of one call. */
  forCall(call: ScriptCall): ToolSkills;
}

/** Skills of a workspace and of its user. Reads nothing until a method is called. */
export function createSkills(given: SkillsOptions): Skills {
  const { workspace, cwd, isTrusted = () => false, environment = process.env } = given;
  const { roots, home } = workspace;
  const interpreters = { roots, path: environment["PATH"] ?? "" };
  const options = { workspace, isTrusted, interpreters, places: placesOfSkills({ roots, cwd, home, environment }) };
  return {
    index: (signal = new AbortController().signal) => indexSkills({ ...options, signal }),
    ownAround: (real) => findOwnAround(real, { ...options, signal: new AbortController().signal }),
    forCall: (call) => ({
      index: () => indexSkills({ ...options, signal: call.signal }),
      async read(reference) {
        const { entry, body } = await findSkill(reference, { ...options, signal: call.signal });
        refuseUntrusted(entry, `Cannot read the skill "${entry.name}"`);
        return { skill: entry, body };
      },
      async openFile(reference, path) {
        const loaded = await findSkill(reference, { ...options, signal: call.signal });
        refuseUntrusted(loaded.entry, `Cannot read a file of the skill "${loaded.entry.name}"`);
        return await openSkillFile(loaded, path, call.signal);
      },
      async findScript(reference, name) {
        const loaded = await findSkill(reference, { ...options, signal: call.signal });
        refuseUntrusted(loaded.entry, `Cannot run a script of the skill "${loaded.entry.name}"`);
        return findScript(loaded, name);
      },
      async openScript(reference, name) {
        const loaded = await findSkill(reference, { ...options, signal: call.signal });
        refuseUntrusted(loaded.entry, `Cannot run a script of the skill "${loaded.entry.name}"`);
        return await readyScript(loaded, findScript(loaded, name), { ...call, interpreters, workspace: cwd });
      },
    }),
  };
}

function refuseUntrusted({ name, trusted }: SkillEntry, cannot: string): void {
  if (trusted) return;
  throw new ToolError(
    "ToolNotAllowed",
    `${cannot}: the skill came with the workspace, and the user has not trusted its current content`,
    { skill: name, hint: TRUST_HINT },
  );
}
