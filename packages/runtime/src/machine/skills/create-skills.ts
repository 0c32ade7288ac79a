import { TRUST_HINT } from "../../contract/skills.ts";
import type { SkillEntry, SkillIndex, ToolSkills } from "../../contract/skills.ts";
import type { Places } from "../../policy/facts.ts";
import { ToolError } from "../../protocol/errors.ts";
import { findOwnAround, findSkill, indexSkills } from "./find-skills.ts";
import type { IsTrusted, LoadedSkill } from "./load.ts";
import { placesOfSkills } from "./skill-sources.ts";
import { readyScript, findScript } from "./ready-script.ts";
import type { ScriptCall } from "./ready-script.ts";
import type { OpenedFile } from "../../contract/context.ts";
import { readIndexed } from "./copy-skill.ts";

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

const MAX_NAMED = 20;

/**
 * A file of a skill, looked up among the indexed files, so that no path can lead outside the skill. It is held in
 * memory (skills are small): the content returned is the content that was hashed, even if the file changes. Throws
 * `Stale`.
 */
async function openSkillFile(
  { entry, judge }: LoadedSkill,
  given: string,
  signal: AbortSignal,
): Promise<{ readonly skill: SkillEntry; readonly path: string; readonly file: OpenedFile }> {
  const path = given.replace(/^(?:\.\/+)+/, "");
  const found = entry.files.find((each) => each.path === path) ?? inOtherCase(entry, path);
  if (found === undefined) throw notOfSkill(entry, given, path);
  const pieces: Buffer[] = [];
  await readIndexed(found, {
    folder: entry.folder,
    judge,
    signal,
    onPiece: (piece) => pieces.push(Buffer.from(piece)),
  });
  return { skill: entry, path: found.path, file: inMemory(Buffer.concat(pieces), found.sha256) };
}

/** Published skills refer to forms.md as FORMS.md. Ignores case if that matches exactly one file. */
function inOtherCase({ files }: SkillEntry, path: string): SkillEntry["files"][number] | undefined {
  const alike = files.filter((each) => each.path.toLowerCase() === path.toLowerCase());
  return alike.length === 1 ? alike[0] : undefined;
}

function inMemory(bytes: Buffer, sha256: string): OpenedFile {
  return {
    size: bytes.length,
    identity: sha256,
    read(position, length, into) {
      const piece = bytes.subarray(position, position + length);
      if (into === undefined) return Promise.resolve(piece);
      piece.copy(into);
      return Promise.resolve(into.subarray(0, piece.length));
    },
    close() {}, // in memory, nothing to close
  };
}

function notOfSkill({ name, files, left_out }: SkillEntry, given: string, path: string): ToolError {
  const cannot = `Cannot read ${JSON.stringify(given)} of the skill "${name}"`;
  if (path.startsWith("/") || path.split("/").includes("..")) {
    return new ToolError("PathTraversalBlocked", `${cannot}: only files in its own folder are read`, {
      path: given,
      hint: "Name a file by its path in the skill's folder.",
    });
  }
  const why = left_out.find((each) => each.path === path)?.why;
  if (why !== undefined) return new ToolError("InvalidArguments", `${cannot}: ${why}`, { path: given });
  const known = files.slice(0, MAX_NAMED).map((each) => JSON.stringify(each.path));
  const more = files.length > MAX_NAMED ? " and others" : "";
  return new ToolError("NotFound", `${cannot}: not one of its files, which are ${known.join(", ")}${more}`, {
    path: given,
    hint: "Name a file by its path in the skill's folder.",
  });
}
