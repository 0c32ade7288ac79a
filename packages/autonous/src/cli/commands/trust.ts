import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { canonicalJson, isInside, isRunByCall, listSkills, makeVisible } from "@autonous/runtime";
import type { SkillEntry } from "@autonous/runtime";
import type { Refused } from "../../config/load.ts";
import { bindModule } from "../../config/module-files.ts";
import { thingOf } from "../../config/project.ts";
import { changesSince, TrustStore } from "../../config/trust.ts";
import type { Thing } from "../../config/trust.ts";
import { quoteForShell } from "../../service/token.ts";
import { wrap } from "../../channels/terminal/width.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace, isTrustedSkill } from "../open-runtime.ts";
import type { Workplace } from "../open-runtime.ts";
import { whyNoPerson } from "../person.ts";
import type { Print } from "../print.ts";
import { replayOptions } from "../replay-options.ts";
import { readTypedLine } from "../standard-input.ts";

/** Something that the workspace brings, and how it stands. */
interface Brought {
  readonly thing: Thing;
  readonly status: "trusted" | "new" | "changed" | "narrows";
  /** Since it was trusted. */
  readonly changes: readonly string[];
  /** Of a configuration: what does not count as long as it is not trusted. */
  readonly widens: readonly Refused[];
  /** Of a skill. */
  readonly skill?: SkillEntry;
}

/**
 * `autonous policy trust`: shows what the workspace brings and, when a person says so, trusts exactly that. Only a
 * person can: one who types yes at a terminal, or who hands over the digest of what was shown.
 */
export async function trust(input: CommandInput): Promise<ExitCode> {
  const { options, print, signal } = input;
  const store = new TrustStore();
  const place = findWorkplace(input);
  const { digest: given } = options;
  if (options["revoke"] === true) {
    if (given !== undefined) throw new UsageError("--revoke takes no --digest: name what to revoke, or leave both out");
    return await revoke(input, place, store);
  }
  const all = [...configurationsOf(place, store), ...(await skillsOf(place, store)), ...modulesOf(place, store)];
  const brought = select(all, { args: input.args, cwd: place.cwd }, ({ thing, skill }) => ({
    ...thing,
    name: skill?.name,
  }));
  const digest = digestOf(brought, place);
  const waiting = brought.filter(({ status }) => status === "new" || status === "changed");
  const show = (trusted: boolean): void => showAll({ brought, digest, trusted }, place, print);
  if (waiting.length === 0 && (given === undefined || given === digest)) {
    show(true);
    print.note(brought.length === 0 ? `Nothing to trust in ${place.opened.join(", ")}` : "Nothing waits for trust");
    return EXIT.done;
  }
  const command = commandFor(input, place, digest);
  if (!(await isAgreed({ digest, given, brought, command, print, signal, show: () => show(false) }))) {
    if (print.json) show(false);
    return EXIT.approval_needed;
  }
  const stamp = { trusted_at: new Date().toISOString(), by: process.env["USER"] ?? "user" };
  for (const { thing } of waiting) store.add({ ...thing, ...stamp });
  if (print.json) show(true);
  print.note("Trusted, as it is now. autonous policy trust --revoke takes it back");
  return EXIT.done;
}

interface Named extends Pick<Thing, "kind" | "path"> {
  readonly name?: string | undefined;
}

/** Those that the arguments name; all where there are none. */
function select<T>(
  all: readonly T[],
  { args, cwd }: { readonly args: readonly string[]; readonly cwd: string },
  naming: (each: T) => Named,
): readonly T[] {
  if (args.length === 0) return all;
  const chosen = args.map((word) => {
    const paths = [process.cwd(), cwd].map((folder) => realOf(resolve(folder, word)));
    const found = all.filter((each) => {
      const { name, path, kind } = naming(each);
      return name === word || paths.some((at) => isInside(at, path) || (kind === "skill" && isInside(path, at)));
    });
    if (found.length > 0) return found;
    const known = all.map((each) => naming(each).name ?? naming(each).path).slice(0, MAX_NAMED);
    const here = known.length === 0 ? "nothing" : known.map((each) => JSON.stringify(each)).join(", ");
    throw new UsageError(`There is no configuration, module or skill ${JSON.stringify(word)} to trust: found ${here}`);
  });
  return all.filter((each) => chosen.some((some) => some.includes(each)));
}

/** As many as an error names. */
const MAX_NAMED = 10;

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (isMissing(error)) return path;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP", "EACCES", "ENAMETOOLONG"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/** What to run from the same folder, for exactly what was shown. */
function commandFor({ args }: CommandInput, place: Workplace, digest: string): string {
  const words = ["autonous", "policy", "trust", ...args, ...replayOptions(place), "--digest", digest];
  return words.map(quoteForShell).join(" ");
}

function configurationsOf({ configuration, opened }: Workplace, store: TrustStore): readonly Brought[] {
  return configuration.files.flatMap(({ owner, trusted, read }): readonly Brought[] => {
    if (owner === "user" || read === undefined) return [];
    const widens = configuration.refused.filter(
      ({ where, until_trusted }) => until_trusted && where.startsWith(`${read.path}:`),
    );
    const stands = standing(thingOf(read, opened), trusted, store);
    return [{ ...stands, ...(trusted || widens.length > 0 ? {} : { status: "narrows" }), widens }];
  });
}

async function skillsOf({ roots, cwd, state_dir }: Workplace, store: TrustStore): Promise<readonly Brought[]> {
  const { skills, shadowed } = await listSkills({ roots, cwd, state_dir, isTrustedSkill });
  return [...skills, ...shadowed.map(({ skill }) => skill)]
    .filter(({ source }) => source === "project")
    .map((skill) => {
      const { folder: path, digest, files } = skill;
      const thing: Thing = {
        kind: "skill",
        path,
        digest,
        files: files.map(({ path: file, sha256 }) => ({ path: file, sha256 })),
      };
      return { ...standing(thing, skill.trusted, store), widens: [], skill };
    });
}

/** One that cannot be read is not there to be trusted; loading it says why. */
function modulesOf({ configuration }: Workplace, store: TrustStore): readonly Brought[] {
  return configuration.modules.flatMap(({ path }) => {
    const module = bindModule(path);
    if ("problem" in module) return [];
    return [{ ...standing(module.thing, store.isTrusted(module.thing), store), widens: [] }];
  });
}

function standing(thing: Thing, isTrusted: boolean, store: TrustStore): Pick<Brought, "thing" | "status" | "changes"> {
  const before = isTrusted ? undefined : store.find(thing);
  if (before === undefined) return { thing, status: isTrusted ? "trusted" : "new", changes: [] };
  return { thing, status: "changed", changes: changesSince(before, thing) };
}

/** Of all that is there, where it is, and the folders that it is for: whoever agrees to it agrees to nothing else. */
function digestOf(brought: readonly Brought[], { opened }: Workplace): string {
  const things = brought.map(({ thing: { kind, path, digest } }) => ({ kind, path, digest }));
  return hash("sha256", canonicalJson({ roots: opened, things }));
}

interface Question {
  readonly digest: string;
  readonly given: CommandInput["options"][string];
  readonly brought: readonly Brought[];
  /** Trusts exactly this, without a terminal. */
  readonly command: string;
  readonly print: Print;
  readonly signal: AbortSignal;
  readonly show: () => void;
}

async function isAgreed({ digest, given, brought, command, print, signal, show }: Question): Promise<boolean> {
  if (isRunByCall()) {
    throw new UsageError(
      "Cannot trust the workspace: this is a command of an agent, and only a person trusts; ask one",
    );
  }
  if (given !== undefined) {
    if (given === digest) return true;
    const one = brought.find(({ thing }) => thing.digest === given);
    const why =
      one === undefined
        ? `what is here is ${digest}, and ${JSON.stringify(given)} was agreed to; look at it again`
        : `${JSON.stringify(given)} is the sha256 of "${one.thing.path}" and not the digest of what was shown, which is ${digest}; "autonous policy trust ${one.skill?.name ?? one.thing.path}" shows that one alone`;
    print.note(makeVisible(`Not trusted: ${why}`));
    return false;
  }
  if (!print.json) show();
  if (print.json || whyNoPerson() !== undefined) {
    print.note(makeVisible(`Nobody is at a terminal to ask. When you have looked at it: ${command}`));
    return false;
  }
  print.note('Trust all of this, as it is now? Type "yes" to do so');
  const answer = await readTypedLine(signal);
  if (/^\s*(?:y|yes)\s*$/i.test(answer)) return true;
  print.note("Not trusted");
  return false;
}

interface Shown {
  readonly brought: readonly Brought[];
  readonly digest: string;
  readonly trusted: boolean;
}

function showAll({ brought, digest, trusted }: Shown, { opened, configuration }: Workplace, print: Print): void {
  const refused = configuration.refused.filter(({ until_trusted }) => !until_trusted);
  if (print.json) {
    print.document({ ok: trusted, trusted, digest, roots: opened, things: brought.map(documentOf), refused });
    return;
  }
  const lines = [
    ...brought.flatMap(linesOf),
    ...(brought.length === 0 ? [] : [`digest ${digest}`]),
    ...refused.map(({ where, what, why }) => `never in force: ${what} (${where}): ${why}`),
  ].map(makeVisible);
  const { textWidth } = print;
  if (lines.length === 0) return;
  print.text(lines.flatMap((line) => (textWidth === undefined ? [line] : wrap(line, textWidth))).join("\n"));
}

function documentOf({ thing, status, changes, widens, skill }: Brought): object {
  return {
    ...thing,
    status,
    changes,
    ...(skill === undefined
      ? { widens }
      : {
          name: skill.name,
          description: skill.description,
          scripts: skill.scripts,
          allowed_tools: skill.allowed_tools ?? null,
        }),
  };
}

// oxfmt-ignore
const STATUS = {
  trusted: "trusted",
  new:     "not trusted yet",
  changed: "changed since it was trusted",
  narrows: "needs no trust: it allows nothing that you do not allow",
} as const satisfies Record<Brought["status"], string>;

function linesOf({ thing, status, changes, widens, skill }: Brought): readonly string[] {
  const head = skill === undefined ? thing.kind : `skill ${skill.name}`;
  const name = skill === undefined ? thing.path : `${thing.path}: ${skill.description}`;
  return [
    `${head} (${STATUS[status]}): ${name}`,
    `  sha256 ${thing.digest}`,
    ...changes.map((change) => `  ${change}`),
    ...widens.map(({ what, where, why }) => `  would allow: ${what} (${where}): ${why}`),
    ...(thing.kind === "module" ? thing.files : []).map(
      ({ path, sha256 }) => `  runs as this program ${path} (sha256 ${sha256})`,
    ),
    ...(skill?.scripts ?? []).map(({ path, sha256 }) => `  may run ${path} (sha256 ${sha256})`),
    ...(skill?.allowed_tools === undefined
      ? []
      : [`  narrows the tools to ${skill.allowed_tools.join(", ") || "none"}`]),
  ];
}

async function revoke(input: CommandInput, place: Workplace, store: TrustStore): Promise<ExitCode> {
  const { print } = input;
  const { roots, opened, cwd } = place;
  const names = new Map((await skillsOf(place, store)).map(({ thing, skill }) => [thing.path, skill?.name]));
  const named = modulesOf(place, store).flatMap(({ thing }) => store.find(thing) ?? []);
  const inside = store.inside([...new Set([...opened, ...roots, cwd])]);
  const trusted = [...inside, ...named.filter(({ path }) => inside.every((each) => each.path !== path))];
  const things = select(trusted, { args: input.args, cwd }, (thing) => ({ ...thing, name: names.get(thing.path) }));
  for (const thing of things) store.remove(thing);
  const revoked = things.map(({ kind, path }) => ({ kind, path }));
  if (print.json) print.document({ ok: true, revoked });
  for (const { kind, path } of revoked) print.text(makeVisible(`no longer trusted: ${kind} ${path}`));
  if (revoked.length === 0) print.note("Nothing in this workspace was trusted");
  return EXIT.done;
}
