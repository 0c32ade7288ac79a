import type { OpenedFile } from "../../contract/context.ts";
import type { SkillEntry } from "../../contract/skills.ts";
import { ToolError } from "../../protocol/errors.ts";
import { readIndexed } from "./copy-skill.ts";
import type { Loaded } from "./load.ts";

const MAX_NAMED = 20;

/**
 * A file of a skill, looked up among the indexed files, so that no path can lead outside the skill. It is held in
 * memory (skills are small): the content returned is the content that was hashed, even if the file changes. Throws
 * `Stale`.
 */
export async function openSkillFile(
  { entry, judge }: Loaded,
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
