import { resolve } from "node:path";
import { checkRoots, isInside } from "@autonous/runtime/internal";
import { defaultOf, SETTINGS } from "./settings.ts";
import type { FromProject, SettingName, SettingValue } from "./settings.ts";

export interface ProjectValue {
  readonly name: SettingName;
  readonly value: SettingValue;
  /** The value in force without the project's file. */
  readonly inForce: SettingValue;
  /** The project's folder. */
  readonly folder: string;
  readonly trusted: boolean;
  /** The environment variable that sets it, which takes precedence over any file. */
  readonly fixed: string | undefined;
}

export interface NarrowedSetting {
  readonly value: SettingValue;
  /** A clause that says which part of the project's value is not in force, and why. */
  readonly refused?: string;
  /** Refused only because the file is not trusted. */
  readonly until_trusted?: true;
  /** Whether the project's value counts, if only in part. */
  readonly counts: boolean;
}

/** The server part of a model setting. */
const SERVER = /@\s*[a-z][a-z0-9+.-]*:/i;

/** Applies a project's file to a setting: never wider than the value in force, unless the file is trusted. */
export function applyProject(given: ProjectValue): NarrowedSetting {
  const { name, value, inForce, trusted, fixed } = given;
  const from: FromProject = SETTINGS[name].project;
  if (from === "inside") return insideOf(given);
  if (from === "adds") {
    return { value: inForce === undefined ? value : `${String(inForce)},${String(value)}`, counts: true };
  }
  if (value === inForce) return { value, counts: false };
  if (from === "never") return refuse(inForce, "a project's file cannot set this");
  if (name === "model" && SERVER.test(String(value))) {
    return refuse(inForce, "a project's file cannot name a server: prompts and the API key would be sent there");
  }
  if (from !== "trusted" && isNarrower(name, value, inForce)) return { value, counts: true };
  if (from === "lower")
    return refuse(inForce, `${show(value)} is higher than ${show(inForce)}, and a project's file can only lower it`);
  if (fixed !== undefined) return refuse(inForce, `${fixed} says ${show(inForce)}`);
  if (trusted) return { value, counts: true };
  const why = from === "trusted" ? `${show(value)} needs trust` : `${show(value)} is wider than ${show(inForce)}`;
  return { ...refuse(inForce, why), until_trusted: true };
}

function refuse(inForce: SettingValue, why: string): NarrowedSetting {
  return { value: inForce, refused: why, counts: false };
}

function isNarrower(name: SettingName, value: SettingValue, inForce: SettingValue): boolean {
  const { kind } = SETTINGS[name];
  const limit = inForce ?? defaultOf(name);
  if (kind.type === "number") return limit === undefined || Number(value) < Number(limit); // no limit is the widest value
  if (kind.type !== "choice") return false;
  const strictness: readonly string[] = kind.of;
  return strictness.indexOf(String(value)) < strictness.indexOf(String(inForce));
}

/** A project may restrict tools to some of its folders, as paths relative to its own: it cannot know its location. */
function insideOf({ value, inForce, folder }: ProjectValue): NarrowedSetting {
  const allowed = checkRoots((inForce ?? []) as readonly string[]).roots;
  const wanted = ((value ?? []) as readonly string[]).map((each) => each && resolve(folder, each));
  const { roots, problems } = checkRoots(wanted);
  const [inside, outside] = [true, false].map((is) =>
    roots.filter((root) => allowed.some((each) => isInside(each, root)) === is),
  ) as [string[], string[]];
  const wrong = [...problems, ...outside.map((root) => `the root "${root}" lies outside ${allowed.join(", ")}`)];
  const refused = wrong.length === 0 ? {} : { refused: wrong.join("; ") };
  // Without any root the runtime could not start.
  if (inside.length === 0) return { value: inForce, ...refused, counts: false };
  return { value: inside, ...refused, counts: true };
}

/** Long values are truncated; the file has the full text. */
function show(value: SettingValue): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
const MAX_SHOWN = 200;
