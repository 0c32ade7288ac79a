import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { isInside, isRunByCall, makeVisible, quoteForShell } from "@autonous/runtime/internal";
import { readTexts } from "../../config/thing-texts.ts";
import { TrustStore } from "../../config/trust-store.ts";
import type { TrustItem } from "../../config/trust-store.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { whyNoPerson } from "../session/person.ts";
import type { Print } from "../output/print.ts";
import { replayOptions } from "../records/replay-options.ts";
import { typedLines } from "../session/standard-input.ts";
import { digestOf, findWorkspaceThings, modulesOf, skillsOf } from "../trust/workspace-things.ts";
import type { WorkspaceThing } from "../trust/workspace-things.ts";
import { wrapLines } from "../output/text-lines.ts";
import { detailLines } from "../trust/trust-details.ts";
import { summaryLines } from "../trust/trust-summary.ts";

/**
 * `autonous policy trust`: shows the workspace's configuration, modules and skills, and trusts exactly those. Only a
 * person can confirm: by typing yes at a terminal, or by passing the digest that was shown.
 */
export async function trust(input: CommandInput): Promise<ExitCode> {
  const { options, print, signal } = input;
  const store = new TrustStore();
  const place = findWorkplace(input);
  const { digest: given } = options;
  if (options["revoke"] === true) {
    if (given !== undefined)
      throw new UsageError("--revoke cannot be combined with --digest: name what to revoke instead");
    return await revoke(input, place, store);
  }
  const { things, left_out } = await findWorkspaceThings(place, store);
  const named = ({ thing, skill }: WorkspaceThing): NamedThing => ({ ...thing, name: skill?.name });
  const selected = select(things, { args: input.args, cwd: place.cwd }, named);
  const digest = digestOf(selected, place);
  const waiting = selected.filter(({ status }) => status === "new" || status === "changed");
  const details = options["details"] === true;
  const seeDetails = `Details: ${commandFor(input, place, ["--details"])}`;
  const show = (trusted: boolean, isLong = details): void =>
    showAll({ selected, left_out, digest, trusted, details: isLong }, place, print);
  if (waiting.length === 0 && (given === undefined || given === digest)) {
    show(true);
    if (selected.length > 0 && !details && !print.json) print.note(seeDetails);
    print.note(selected.length === 0 ? `Nothing to trust in ${place.opened.join(", ")}` : "Nothing needs trust");
    return EXIT.done;
  }
  const command = commandFor(input, place, ["--digest", digest]);
  if (
    !(await isAgreed({
      digest,
      given,
      seeDetails: details ? [] : [seeDetails],
      selected,
      command,
      print,
      signal,
      show: (isLong) => show(false, isLong),
    }))
  ) {
    if (print.json) show(false);
    return EXIT.approval_needed;
  }
  const stamp = { trusted_at: new Date().toISOString(), by: process.env["USER"] ?? "user" };
  for (const { thing } of waiting) store.add({ ...thing, ...stamp }, readTexts(thing));
  if (print.json) show(true);
  print.note("Trusted in its current state. Revoke: autonous policy trust --revoke");
  return EXIT.done;
}

interface NamedThing extends Pick<TrustItem, "kind" | "path"> {
  readonly name?: string | undefined;
}

/** The things that the arguments name; all if no argument is given. */
function select<T>(
  all: readonly T[],
  { args, cwd }: { readonly args: readonly string[]; readonly cwd: string },
  naming: (each: T) => NamedThing,
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
    throw new UsageError(`No configuration, module or skill ${JSON.stringify(word)} to trust: found ${here}`);
  });
  return all.filter((each) => chosen.some((some) => some.includes(each)));
}

/** The number of names listed in an error. */
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

/** The command to run in the same folder, for exactly what was shown. */
function commandFor({ args }: CommandInput, place: Workplace, more: readonly string[]): string {
  const words = ["autonous", "policy", "trust", ...args, ...replayOptions(place), ...more];
  return words.map(quoteForShell).join(" ");
}

interface Question {
  readonly digest: string;
  readonly given: CommandInput["options"][string];
  readonly selected: readonly WorkspaceThing[];
  /** The command that trusts exactly this, without a terminal. */
  readonly command: string;
  /** How to see more. */
  readonly seeDetails: readonly string[];
  readonly print: Print;
  readonly signal: AbortSignal;
  /** Shows the summary, or all details. */
  readonly show: (isLong?: boolean) => void;
}

async function isAgreed({
  digest,
  given,
  selected,
  command,
  seeDetails,
  print,
  signal,
  show,
}: Question): Promise<boolean> {
  if (isRunByCall()) {
    throw new UsageError("Cannot trust the workspace from an agent's command: only a person can; ask the user");
  }
  if (given !== undefined) {
    if (given === digest) return true;
    const one = selected.find(({ thing }) => thing.digest === given);
    const why =
      one === undefined
        ? `the current digest is ${digest}, not ${JSON.stringify(given)}; review it again`
        : `${JSON.stringify(given)} is the sha256 of "${one.thing.path}", not the digest that was shown, which is ${digest}; "autonous policy trust ${one.skill?.name ?? one.thing.path}" shows that one alone`;
    print.note(makeVisible(`Not trusted: ${why}`));
    return false;
  }
  if (!print.json) show();
  if (print.json || whyNoPerson() !== undefined) {
    if (!print.json) for (const line of seeDetails) print.note(makeVisible(line));
    print.note(makeVisible(`No terminal to ask at. After a review, run: ${command}`));
    return false;
  }
  return await isAnsweredYes({ print, signal, show });
}

/** Only "yes" confirms. `d` shows the details and asks again. */
async function isAnsweredYes({ print, signal, show }: Pick<Question, "print" | "signal" | "show">): Promise<boolean> {
  const ask = (): void => print.note('Trust all of this in its current state? Type "yes", or "d" for details');
  ask();
  for await (const answer of typedLines(signal)) {
    if (/^\s*(?:y|yes)\s*$/i.test(answer)) return true;
    if (!/^\s*(?:d|details)\s*$/i.test(answer)) break;
    show(true);
    ask();
  }
  print.note("Not trusted");
  return false;
}

interface TrustView {
  readonly selected: readonly WorkspaceThing[];
  readonly left_out: readonly string[];
  readonly digest: string;
  readonly trusted: boolean;
  readonly details: boolean;
}

function showAll({ selected, left_out, digest, trusted, details }: TrustView, place: Workplace, print: Print): void {
  const { opened, configuration, cwd } = place;
  const refused = configuration.refused.filter(({ until_trusted }) => !until_trusted);
  if (print.json) {
    print.document({
      ok: trusted,
      trusted,
      digest,
      roots: opened,
      things: selected.map(documentOf),
      left_out,
      refused,
    });
    return;
  }
  const { textWidth } = print;
  const lines = [
    ...(details ? selected.flatMap(detailLines) : summaryLines(selected, { width: textWidth, cwd })),
    ...left_out.map((each) => `left out: ${each}`),
    ...(selected.length === 0 ? [] : [`digest ${digest}`]),
    ...refused.map(({ where, what, why }) => `never in force: ${what} (${where}): ${why}`),
  ].map(makeVisible);
  if (lines.length === 0) return;
  print.text(wrapLines(lines, textWidth).join("\n"));
}

function documentOf({
  thing,
  status,
  changes,
  files_changed,
  widens,
  skill,
  before,
  shadowed_by,
}: WorkspaceThing): object {
  return {
    ...thing,
    status,
    changes,
    files_changed,
    ...(before === undefined ? {} : { trusted_before: { digest: before.digest, trusted_at: before.trusted_at } }),
    ...(skill === undefined
      ? { widens }
      : {
          name: skill.name,
          description: skill.description,
          scripts: skill.scripts,
          warnings: skill.warnings,
          left_out: skill.left_out,
          ...(shadowed_by === undefined ? {} : { shadowed_by }),
          allowed_tools: skill.allowed_tools ?? null,
          allowed_tools_before: before?.allowed_tools ?? null,
        }),
  };
}

async function revoke(input: CommandInput, place: Workplace, store: TrustStore): Promise<ExitCode> {
  const { print } = input;
  const { roots, opened, cwd } = place;
  const names = new Map((await skillsOf(place)).map(({ thing, skill }) => [thing.path, skill?.name]));
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
