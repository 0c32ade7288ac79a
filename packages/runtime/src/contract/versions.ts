import type { FileVersion, Version } from "./undo-keeper.ts";

/** Whether two versions have the same content. The mode is ignored. */
export function isSameContent(one: Version | null, other: Version | null): boolean {
  if (one === null || other === null) return one === other;
  if (one.kind === "link") return other.kind === "link" && one.target === other.target;
  if (one.kind === "folder" || one.kind === "other") return other.kind === one.kind;
  return isFileVersion(other) && one.sha256 === other.sha256;
}

export function isSameVersion(one: Version | null, other: Version | null): boolean {
  return isSameContent(one, other) && modeOf(one) === modeOf(other);
}

export function isFileVersion(version: Version | null): version is FileVersion {
  return version !== null && (version.kind === undefined || version.kind === "file");
}

/** The mode of a link has no meaning, and that of a pipe is not restored. */
function modeOf(version: Version | null): number | undefined {
  return version !== null && "mode" in version ? version.mode : undefined;
}
