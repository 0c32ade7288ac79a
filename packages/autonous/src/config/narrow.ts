import { resolve } from "node:path";
import { checkRoots, isInside } from "@autonous/runtime";
import { defaultOf, SETTINGS } from "./settings.ts";
import type { FromProject, SettingName, SettingValue } from "./settings.ts";

export interface ProjectValue {
  readonly name: SettingName;
  readonly value: SettingValue;
  /** What is in force without it. */
  readonly inForce: SettingValue;
  /** The folder that the project's file speaks for. */
  readonly folder: string;
  readonly trusted: boolean;
  /** The variable of the environment that has set it, which outweighs any file. */
  readonly fixed: string | undefined;
}

export interface Narrowed {
  readonly value: SettingValue;
  /** A clause that says what of the project's value does not count, and why. */
  readonly refused?: string;
  /** It is refused only because the file is not trusted. */
  readonly until_trusted?: true;
  /** Whether the project's value counts, if only in part. */
  readonly counts: boolean;
}

/** The part of a model's setting that says where it is. */
const SERVER = /@\s*[a-z][a-z0-9+.-]*:/i;

/** A setting after a project's file has had its say: nothing wider than what is in force, unless the file is trusted. */
export function applyProject(given: ProjectValue): Narrowed {
  const { name, value, inForce, trusted, fixed } = given;
  const from: FromProject = SETTINGS[name].project;
  if (from === "inside") return insideOf(given);
  if (from === "adds") {
    return { value: inForce === undefined ? value : `${String(inForce)},${String(value)}`, counts: true };
  }
  if (value === inForce) return { value, counts: false };
  if (from === "never") return refuse(inForce, "a project's file never says this");
  if (name === "model" && SERVER.test(String(value))) {
    return refuse(inForce, "a project's file never names a server: what is said, and a key, would go there");
  }
  if (from !== "trusted" && isNarrower(name, value, inForce)) return { value, counts: true };
  if (from === "lower")
    return refuse(inForce, `${show(value)} is higher than ${show(inForce)}, and a project's file only lowers it`);
  if (fixed !== undefined) return refuse(inForce, `${fixed} says ${show(inForce)}`);
  if (trusted) return { value, counts: true };
  const why = from === "trusted" ? `${show(value)} needs trust` : `${show(value)} is wider than ${show(inForce)}`;
  return { ...refuse(inForce, why), until_trusted: true };
}

function refuse(inForce: SettingValue, why: string): Narrowed {
  return { value: inForce, refused: why, counts: false };
}

function isNarrower(name: SettingName, value: SettingValue, inForce: SettingValue): boolean {
  const { kind } = SETTINGS[name];
  const limit = inForce ?? defaultOf(name);
  if (kind.type === "number") return limit === undefined || Number(value) < Number(limit); // no limit is the widest
  if (kind.type !== "choice") return false;
  const strictness: readonly string[] = kind.of;
  return strictness.indexOf(String(value)) < strictness.indexOf(String(inForce));
}

/** A project may keep tools to some of its folders. Named from its own folder on, for it cannot know where it lies. */
function insideOf({ value, inForce, folder }: ProjectValue): Narrowed {
  const allowed = checkRoots((inForce ?? []) as readonly string[]).roots;
  const wanted = ((value ?? []) as readonly string[]).map((each) => each && resolve(folder, each));
  const { roots, problems } = checkRoots(wanted);
  const [inside, outside] = [true, false].map((is) =>
    roots.filter((root) => allowed.some((each) => isInside(each, root)) === is),
  ) as [string[], string[]];
  const wrong = [...problems, ...outside.map((root) => `the root "${root}" lies outside ${allowed.join(", ")}`)];
  const refused = wrong.length === 0 ? {} : { refused: wrong.join("; ") };
  // Nothing left would be no narrowing but a runtime that cannot start.
  if (inside.length === 0) return { value: inForce, ...refused, counts: false };
  return { value: inside, ...refused, counts: true };
}

/** Long values are cut: who wants to see all of one looks at the file. */
function show(value: SettingValue): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
const LONGEST_SHOWN = 200;
