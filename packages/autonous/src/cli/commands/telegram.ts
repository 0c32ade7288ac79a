import { existsSync } from "node:fs";
import { isRunByCall, makeVisible, openState, pauseUntilAborted } from "@autonous/runtime/internal";
import { BOT_NAME, describePerson, readBook, removeContact } from "../../channels/telegram/access/access-book.ts";
import { CODE_MINUTES, makeCode, stateOfCode } from "../../channels/telegram/access/pairing.ts";
import type { CodeState, MadeCode } from "../../channels/telegram/access/pairing.ts";
import { databaseFile, openStore } from "../../store/open-store.ts";
import { isStateFolderLocked } from "../../store/sqlite/state-lock.ts";
import type { Store } from "../../store/store.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { personName } from "../session/person.ts";
import { table } from "../output/table.ts";

const LOOK_MS = 300;

/** `autonous telegram pair`. */
export async function pair(input: CommandInput): Promise<ExitCode> {
  refuseToCommands();
  const { print, options, signal } = input;
  const place = findWorkplace(input);
  const { state_dir, problem } = openState({
    workspace: process.cwd(),
    state_dir: place.state_dir,
    roots: place.roots,
  });
  if (problem !== undefined) throw new UsageError(`Cannot pair: ${problem}`);
  return await withStore(databaseFile(state_dir), async (store) => {
    const made = await makeCode(store, { by: personName(), now: Date.now() });
    const bot = await botName(place, store);
    const link = bot === undefined ? null : `https://t.me/${bot}?start=${made.code}`;
    const isWaiting = options["noWait"] !== true;
    if (print.json && !isWaiting) print.document({ code: made.code, link, expires_at: isoTime(made.expires_at) });
    else printCode(input, { made, bot, link, isWaiting });
    noteService(input, place);
    if (!isWaiting) return EXIT.done;
    const state = await untilUsed(store, made, signal);
    if (print.json) print.document({ state: state.state, ...(state.state === "used" ? { person: state.person } : {}) });
    print.note(END_TEXTS[state.state](state));
    return EXITS[state.state];
  });
}

interface PairingView {
  readonly made: MadeCode;
  readonly bot: string | undefined;
  readonly link: string | null;
  readonly isWaiting: boolean;
}

/** Lines of at most 80 columns, the link on a separate line, so that a terminal does not break it. */
function printCode({ print }: CommandInput, { made, bot, link, isWaiting }: PairingView): void {
  const lines = [
    `Code: ${made.code}`,
    ...(link === null
      ? ["Send it to the bot in a private chat."]
      : [`Link: ${link}`, `Open the link, or send the code to @${bot} in private.`]),
    `It works once, for ${CODE_MINUTES} minutes.`,
    "Give it only to people who may use this machine through the bot.",
    ...(isWaiting ? ["Waiting until it is used. Ctrl-C stops waiting; the code stays valid."] : []),
  ];
  if (print.json) for (const line of lines) print.note(line);
  else print.text(lines.join("\n"));
}

/** Warns if no service uses this state folder, because the code would never work. */
function noteService({ print }: CommandInput, { state_dir }: Workplace): void {
  if (isStateFolderLocked(state_dir)) return;
  print.note(
    `No service runs on the state folder "${state_dir}". Start "autonous serve" on it, or name the folder of your service with --state-dir`,
  );
}

async function untilUsed(
  store: Store,
  { hash, expires_at }: MadeCode,
  signal: AbortSignal,
): Promise<CodeState | { readonly state: "interrupted" }> {
  for (;;) {
    const state = await stateOfCode(store, { hash, now: Date.now() });
    if (state.state !== "open") return state;
    if (signal.aborted) return { state: "interrupted" };
    await pauseUntilAborted(Math.min(LOOK_MS, Math.max(1, expires_at - Date.now())), signal);
  }
}

type PairingEnd = Awaited<ReturnType<typeof untilUsed>>;

// oxfmt-ignore
const END_TEXTS: Readonly<Record<PairingEnd["state"], (state: PairingEnd) => string>> = {
  used:        (state) => `Paired: ${"person" in state ? makeVisible(describePerson(state.person)) : ""}`,
  expired:     () => "The code expired unused. Run autonous telegram pair again",
  void:        () => "The code is void: too many wrong codes were sent to the bot, or too many codes are open. Run autonous telegram pair again",
  interrupted: () => `The code stays valid until it expires; "autonous telegram users" shows whether it was used`,
  open:        () => "The code is still open",
};

// oxfmt-ignore
const EXITS: Readonly<Record<PairingEnd["state"], ExitCode>> = {
  used: EXIT.done, expired: EXIT.failed, void: EXIT.failed, interrupted: EXIT.interrupted, open: EXIT.failed,
};

/** As stored by the service; before its first start, from Telegram. */
async function botName({ configuration }: Workplace, store: Store): Promise<string | undefined> {
  const { telegram_token: token } = configuration.settings;
  const kept = await store.kv.get(BOT_NAME);
  if (kept !== undefined || token === undefined) return kept;
  const { findBotName } = await import("../checks/telegram-client.ts");
  return await findBotName(configuration.settings);
}

/** `autonous telegram users`. */
export async function users(input: CommandInput): Promise<ExitCode> {
  const { print } = input;
  const place = findWorkplace(input);
  const { telegram_allowed_users: listed = [] } = place.configuration.settings;
  const contacts = (await withBook(place, (store) => readBook(store)))?.contacts ?? [];
  const rows = [
    ...listed.map((user) => ({
      user,
      name: nameOf(contacts.find((each) => each.user === user)),
      state: "allowed",
      role: "owner",
      by: "AUTONOUS_TELEGRAM_ALLOWED_USERS",
      at: null,
    })),
    ...contacts
      .filter(({ user }) => !listed.includes(user))
      .map(({ user, state, role = null, by = null, at, ...person }) => ({
        user,
        name: nameOf(person),
        state,
        role,
        by,
        at: isoTime(at),
      })),
  ];
  if (print.json) print.document(rows);
  else if (rows.length === 0)
    print.note(`No one has access yet (state folder "${place.state_dir}"). Let someone in: autonous telegram pair`);
  else {
    const lines = rows.map(({ user, name, state, role, by, at }) => [
      String(user),
      name,
      state,
      role ?? "",
      by ?? "",
      at ?? "",
    ]);
    print.text(table([["ID", "NAME", "STATE", "ROLE", "BY", "SINCE"], ...lines], { width: print.textWidth }));
  }
  return EXIT.done;
}

function nameOf(person: { readonly name: string; readonly username?: string } | undefined): string {
  if (person === undefined) return "";
  return makeVisible(person.username === undefined ? person.name : `${person.name} (@${person.username})`);
}

/** `autonous telegram remove`. */
export async function remove(input: CommandInput): Promise<ExitCode> {
  refuseToCommands();
  const { args, print } = input;
  const [id = ""] = args;
  if (!/^\d{1,16}$/.test(id))
    throw new UsageError(`Invalid Telegram id "${id}" (example: 123456789); autonous telegram users lists them`);
  const user = Number(id);
  const place = findWorkplace(input);
  const isListed = place.configuration.settings.telegram_allowed_users?.includes(user) === true;
  const decision = { by: personName(), via: "command line", now: Date.now() } as const;
  const removed = await withBook(place, (store) => removeContact(store, user, decision));
  const still = `${user} is in AUTONOUS_TELEGRAM_ALLOWED_USERS: remove it there and restart the service`;
  if (removed === undefined)
    throw new UsageError(
      isListed ? still : `No person with the id ${user} was let in or blocked; autonous telegram users lists them`,
    );
  if (print.json) print.document({ removed, still_allowed: isListed });
  const what = removed.state === "allowed" ? "no longer has access" : `is no longer ${removed.state}`;
  print.note(`${makeVisible(describePerson(removed))} ${what}`);
  if (isListed) print.note(still);
  return isListed ? EXIT.failed : EXIT.done;
}

/** Undefined if no service was ever started here. */
async function withBook<T>(place: Workplace, work: (store: Store) => Promise<T>): Promise<T | undefined> {
  const file = databaseFile(place.state_dir);
  return existsSync(file) ? await withStore(file, work) : undefined;
}

async function withStore<T>(file: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({ file, clock: Date.now });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** In a sandbox, commands cannot reach the state folder; without one, this check is only a safeguard against mistakes. */
function refuseToCommands(): void {
  if (isRunByCall())
    throw new UsageError("A command that an agent runs cannot change who has access; run it in a terminal of your own");
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
