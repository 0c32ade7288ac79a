import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { redact } from "@autonous/runtime";
import {
  APPROVAL_STATES,
  approvalAnswer,
  headsFolder,
  isRunByCall,
  makeVisible,
  openApprovals,
  ruleFor,
  secretsOf,
} from "@autonous/runtime/internal";
import type { ApprovalAnswer } from "@autonous/runtime";
import type { Approval, ApprovalKeeper, ApprovalState, Grant } from "@autonous/runtime/internal";
import { checkOffer } from "../../channels/words/check-offer.ts";
import { openKeyboard } from "../../channels/terminal/keyboard.ts";
import { requestLines } from "../../channels/terminal/request-lines.ts";
import { createScreen } from "../../channels/terminal/screen.ts";
import { addRule } from "../../config/add-rule.ts";
import { databaseFile, openStore } from "../../store/open-store.ts";
import { holdingFile } from "../../store/sqlite/state-lock.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { personName, whyNoPerson } from "../session/person.ts";
import { table } from "../output/table.ts";

/** `autonous approvals list`. */
export async function list(input: CommandInput): Promise<ExitCode> {
  const { options, print } = input;
  const state = options["all"] === true ? undefined : ((options["state"] as string | undefined) ?? "pending");
  if (state !== undefined && !Object.hasOwn(APPROVAL_STATES, state))
    throw new UsageError(`Invalid state "${state}" (one of ${Object.keys(APPROVAL_STATES).join(", ")})`);
  const found = await withKeepers(input, (keepers) =>
    fromAll(keepers, (keeper) => keeper.list(state === undefined ? {} : { state: state as ApprovalState })),
  );
  if (print.json) print.document(found);
  else if (found.length === 0) print.note("No pending approvals");
  else
    print.text(table([["APPROVAL", "STATE", "UNTIL", "TOOL", "WHY"], ...found.map(toRow)], { width: print.textWidth }));
  return EXIT.done;
}

function toRow({ request, state }: Approval): string[] {
  return [request.approval_id, state, request.expires_at.replace(/\.\d+Z$/, "Z"), request.tool, request.reason];
}

/** `autonous approvals show`. */
export async function show(input: CommandInput): Promise<ExitCode> {
  const { print } = input;
  const approval = await withKeepers(input, async (keepers) => (await findOne(keepers, idOf(input))).approval);
  if (print.json) {
    print.document(approval);
    return EXIT.done;
  }
  const screen = createScreen(process.stdout, process.env);
  screen.print(requestLines(approval.request, { screen, whole: true, now: Date.now(), reserved: 0 }));
  if (approval.state !== "pending") print.text(wordsOf(approval));
  else if (approval.request.offers.length > 0) print.text(offerLines(approval, print.textWidth));
  return EXIT.done;
}

function offerLines({ request }: Approval, width: number | undefined): string {
  const rows = request.offers.map(({ offer, words }) => [`  --offer ${offer}`, words]);
  return ["With --scope run or --scope session the approval lasts longer:", table(rows, { width })].join("\n");
}

/** `autonous approvals grant`. */
export async function grant(input: CommandInput): Promise<ExitCode> {
  const { options } = input;
  const { scope = "call", offer } = options as { readonly scope?: string; readonly offer?: string };
  if (!isScope(scope)) throw new UsageError(`Invalid scope "${scope}" (one of call, run, session)`);
  const given = offer === undefined ? {} : { offer };
  return await answerOne(input, { answer: "grant", scope, ...given, ...reasonOf(input) });
}

/** `autonous approvals deny`. */
export async function deny(input: CommandInput): Promise<ExitCode> {
  return await answerOne(input, { answer: "deny", ...reasonOf(input) });
}

async function answerOne(input: CommandInput, answer: ApprovalAnswer): Promise<ExitCode> {
  const { print } = input;
  const isRule = input.options["rule"] === true;
  refuseToCommands();
  const id = idOf(input);
  const taken = await withKeepers(input, async (keepers) => {
    const { keeper, approval } = await findOne(keepers, id);
    requireOffer(approval, answer, isRule);
    const rule = isRule && approval.state === "pending" ? findRule(approval, answer) : undefined;
    if (answer.answer === "grant" && approval.state === "pending") {
      requirePerson(id);
      if (!(await isConfirmed(approval, { answer, rule, signal: input.signal }))) return "unconfirmed";
    }
    if (rule !== undefined) print.note(writeRule(rule));
    return await keeper.answer(id, { ...answer, by: personName(), via: "command line" });
  });
  if (taken === undefined) throw noSuch(id);
  if (taken === "unconfirmed") {
    print.note(`Not granted: ${id} is still pending`);
    return EXIT.approval_needed;
  }
  if (print.json) print.document(taken);
  print.note(taken.won ? wordsOf(taken.approval) : `Too late: ${wordsOf(taken.approval)}`);
  return taken.won ? EXIT.done : EXIT.failed;
}

/** Scripts may deny. Only a person may grant, after seeing the request. */
function requirePerson(id: string): void {
  const why = whyNoPerson();
  if (why === undefined) return;
  throw new UsageError(
    `Cannot grant ${id}: ${why}. Run "autonous approvals grant ${id}" in a terminal of your own; programs can answer over HTTP with the service token`,
  );
}

interface Confirmation {
  readonly answer: ApprovalAnswer;
  readonly rule: Rule | undefined;
  readonly signal: AbortSignal;
}

async function isConfirmed({ request }: Approval, { answer, rule, signal }: Confirmation): Promise<boolean> {
  const keyboard = openKeyboard();
  if (keyboard === undefined) throw new UsageError("Cannot grant: the terminal cannot be opened to ask");
  try {
    const screen = createScreen(process.stderr, process.env);
    const { scope = "call", offer } = answer;
    const offered = request.offers.find((each) => each.offer === offer) ?? request.offers[0];
    const longer = rule?.words ?? (scope === "call" ? undefined : offered?.words);
    const until = rule === undefined ? `for the rest of this ${scope}` : "from now on, as a rule";
    const about = longer === undefined ? "This call, once." : `This call, and ${until}: ${makeVisible(longer)}`;
    screen.print([...requestLines(request, { screen, whole: true, now: Date.now(), reserved: 0 }), about]);
    keyboard.forget(); // text typed before the question appeared is not an answer
    const typed = await keyboard.readLine({ prompt: 'Type "yes" to grant it: ', signal });
    return typed.kind === "line" && /^\s*yes\s*$/i.test(typed.text);
  } finally {
    keyboard.close();
  }
}

/** `autonous approvals grants`. */
export async function grants(input: CommandInput): Promise<ExitCode> {
  const { print } = input;
  const found = await withKeepers(input, (keepers) => fromAll(keepers, (keeper) => keeper.grants()));
  if (print.json) print.document(found);
  else if (found.length === 0) print.note("No active grants");
  else print.text(table([["GRANT", "FOR", "WHAT", "BY"], ...found.map(toGrantRow)], { width: print.textWidth }));
  return EXIT.done;
}

function toGrantRow({ grant_id, scope, run_id, session, words, by, via, granted_at }: Grant): string[] {
  const who = [by ?? "unknown", ...(via === null ? [] : [`(${via})`]), granted_at.replace(/\.\d+Z$/, "Z")].join(" ");
  return [grant_id, scope === "run" ? run_id : session, words, who];
}

/** `autonous approvals revoke`. */
export async function revoke(input: CommandInput): Promise<ExitCode> {
  const id = idOf(input);
  const revoked = await withKeepers(input, async (keepers) => {
    const outcomes = await Promise.all(keepers.map((keeper) => keeper.revoke(id)));
    return outcomes.includes(true);
  });
  if (!revoked) throw new UsageError(`No active grant "${id}"; "autonous approvals grants" lists them`);
  if (input.print.json) input.print.document({ revoked: true });
  input.print.note(`Revoked ${id}`);
  return EXIT.done;
}

/**
 * The approvals of the service, if one exists, and of the command line's runs. The runs' folders contain copies of the
 * service's approvals; the store is authoritative.
 */
async function withKeepers<T>(
  input: CommandInput,
  work: (keepers: readonly ApprovalKeeper[]) => Promise<T>,
): Promise<T> {
  const { state_dir } = findWorkplace(input);
  const files = openApprovals({ state_dir });
  const file = databaseFile(state_dir);
  if (!existsSync(file)) return await work(existsSync(state_dir) ? [files] : []);
  const store = await openStore({ file, clock: Date.now });
  try {
    return await work([store.approvals, files]);
  } finally {
    await store.close();
  }
}

async function fromAll<T extends Approval | Grant>(
  keepers: readonly ApprovalKeeper[],
  read: (keeper: ApprovalKeeper) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const all = (await Promise.all(keepers.map(read))).flat();
  const each = [...new Map(all.toReversed().map((one) => [idIn(one), one])).values()];
  return each.sort((one, other) => (idIn(one) < idIn(other) ? -1 : 1)); // ids start with a timestamp
}

function idIn(each: Approval | Grant): string {
  return "grant_id" in each ? each.grant_id : each.request.approval_id;
}

interface HeldApproval {
  readonly keeper: ApprovalKeeper;
  readonly approval: Approval;
}

async function findOne(keepers: readonly ApprovalKeeper[], id: string): Promise<HeldApproval> {
  for (const keeper of keepers) {
    const approval = await keeper.get(id);
    if (approval !== undefined) return { keeper, approval };
  }
  throw noSuch(id);
}

function noSuch(id: string): UsageError {
  return new UsageError(
    `No approval "${id}" here; "autonous approvals list" shows pending ones, --state-dir selects another state folder`,
  );
}

/** A rule covers its offer, whatever the scope of the approval itself. */
function requireOffer({ request }: Approval, answer: ApprovalAnswer, isRule: boolean): void {
  const problem = checkOffer(request, isRule ? { ...answer, scope: "run" } : answer);
  if (problem !== undefined) throw new UsageError(problem);
}

interface Rule {
  readonly words: string;
  readonly rule: NonNullable<ReturnType<typeof ruleFor>>;
}

function findRule({ request }: Approval, { offer }: ApprovalAnswer): Rule {
  const chosen = request.offers.find((each) => (offer === undefined ? each.offer !== "exact" : each.offer === offer));
  const rule = chosen === undefined ? undefined : ruleFor(chosen.pattern);
  if (chosen === undefined || rule === undefined)
    throw new UsageError("No narrow rule exists for this call; grant it for the run or the session");
  return { words: chosen.words, rule };
}

/** Written before the message, so that the rule is in force when it is announced. */
function writeRule({ words, rule }: Rule): string {
  const lock = join(dirname(headsFolder()), "configuration.lock");
  return `From now on: ${words} (${holdingFile(lock, () => addRule(rule, process.env))})`;
}

function wordsOf({ request, state, answer, answered_at }: Approval): string {
  if (answer === undefined) return `${request.approval_id} is ${state}`;
  const verb = answer.answer === "grant" ? "granted" : "denied";
  const scope =
    answer.answer === "grant" && answer.scope !== undefined && answer.scope !== "call"
      ? ` for the ${answer.scope}`
      : "";
  const by = answer.by === undefined ? "" : ` by ${answer.by}`;
  const reason = answer.reason === undefined ? "" : `: ${answer.reason}`;
  return `${request.approval_id} was ${verb}${scope}${by}${answered_at === undefined ? "" : ` at ${answered_at}`}${reason}`;
}

/** Redacted, because it is stored with the answer. */
function reasonOf({ options }: CommandInput): { readonly reason?: string } {
  const { reason } = options as { readonly reason?: string };
  if (reason === undefined) return {};
  if (!approvalAnswer.shape.reason.safeParse(reason).success)
    throw new UsageError("--reason is too long (at most 2,000 characters)");
  return { reason: redact(reason, { known: secretsOf(process.env) }).text };
}

function idOf({ args }: CommandInput): string {
  return args[0] ?? "";
}

function isScope(scope: string): scope is NonNullable<ApprovalAnswer["scope"]> {
  return scope === "call" || scope === "run" || scope === "session";
}

/** In a sandbox, commands cannot reach approvals; without one, this check is only a safeguard against mistakes. */
function refuseToCommands(): void {
  if (isRunByCall())
    throw new UsageError("A command that an agent runs cannot answer for a person; answer in a terminal of your own");
}
