/** `npm run matrix -- --help` */
import { parseArgs } from "node:util";
import { makeVisible } from "@autonous/runtime/internal";
import { scratchPlace, startService, until } from "../support/service.ts";
import type { Place, Served } from "../support/service.ts";
import { eventsOf } from "../support/telegram.ts";
import { byHand, inEmulator, played, problemOf } from "./matrix/people.ts";
import type { OutsideApi, Person } from "./matrix/people.ts";
import { MATRIX } from "./matrix/run-cases.ts";
import type { SeenMessage } from "./matrix/relay.ts";
import type { MatrixRow } from "./matrix/run-cases.ts";
import { servePage, setStage } from "./matrix/stage.ts";
import type { MatrixWorld, SaidMessage } from "./matrix/stage.ts";

const HELP = `Usage: npm run matrix -- [options]

Tests every tool through messages in a Telegram chat, good and bad cases: the bot's messages, the record, the changed
files. Runs its own service in a scratch folder. Ends with "N passed, N failed"; exit code 1 if any case failed.

Without a token it uses the emulator of this repository. With AUTONOUS_TELEGRAM_TOKEN it uses the Bot API at
AUTONOUS_TELEGRAM_API_ROOT (https://api.telegram.org): the bot's messages go there, to the chat of the first user of
AUTONOUS_TELEGRAM_ALLOWED_USERS, who must have sent /start to the bot once. A bot cannot act as a user: messages and
button presses are passed to the service as if that user had sent them, and the API is not polled, so that a
service with the same token loses no updates. With --by-hand a user sends them, within two minutes each.

  --tool <name>   only this tool (repeatable)
  --chat <id>     the user to write to, instead of the first allowed one
  --seconds <n>   timeout per case (default 120)
  --by-hand       print what to send and press, and wait for the user
  --help
`;

const OPTIONS = {
  tool: { type: "string", multiple: true },
  chat: { type: "string" },
  seconds: { type: "string", default: "120" },
  "by-hand": { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

class UsageError extends Error {}

function outsideApi(chat: string | undefined): OutsideApi | undefined {
  const { AUTONOUS_TELEGRAM_TOKEN: token, AUTONOUS_TELEGRAM_API_ROOT, AUTONOUS_TELEGRAM_ALLOWED_USERS } = process.env;
  if (token === undefined || token === "") {
    if (AUTONOUS_TELEGRAM_API_ROOT === undefined) return undefined;
    throw new UsageError(
      "AUTONOUS_TELEGRAM_API_ROOT is set and AUTONOUS_TELEGRAM_TOKEN is not; set both, or neither for the emulator",
    );
  }
  const id = Number(chat ?? AUTONOUS_TELEGRAM_ALLOWED_USERS?.split(",")[0]?.trim());
  if (!Number.isSafeInteger(id) || id <= 0)
    throw new UsageError("No user to write to; set AUTONOUS_TELEGRAM_ALLOWED_USERS or --chat to a user id");
  return { token, api_root: AUTONOUS_TELEGRAM_API_ROOT ?? "https://api.telegram.org", chat: id };
}

function chosenRows(tools: readonly string[] | undefined): readonly MatrixRow[] {
  if (tools === undefined) return MATRIX;
  const known = new Set(MATRIX.map(({ tool }) => tool));
  const unknown = tools.filter((tool) => !known.has(tool));
  if (unknown.length > 0)
    throw new UsageError(`No case for ${unknown.join(", ")}; available: ${[...known].join(", ")}`);
  return MATRIX.filter(({ tool }) => tools.includes(tool));
}

/** The settings of the user's environment are not under test, and the token must not leak to other programs. */
function clearSettings(): void {
  for (const name of Object.keys(process.env)) if (/^(AUTONOUS|TASK|TG|TOOL)_/.test(name)) delete process.env[name];
}

async function openWorld(place: Place, person: Person): Promise<MatrixWorld> {
  const page = await servePage(place);
  const { relay } = person;
  const environment = {
    ...setStage(place, page, [person.id]),
    AUTONOUS_TELEGRAM_API_ROOT: relay.url,
    AUTONOUS_TELEGRAM_TOKEN: relay.token,
  };
  const service = await startService(place, { environment });
  await until(() => relay.isPolled, "the bot to listen");
  return { root: place.root, page, ask: askBy(person, service) };
}

function askBy(person: Person, service: Served): MatrixWorld["ask"] {
  const { id, relay } = person;
  return async (text, { press, file } = {}) => {
    const before = new Set(relay.messages(id).map(({ message_id }) => message_id));
    const fresh = () => relay.messages(id).filter(({ message_id }) => !before.has(message_id));
    person.say(text, file);
    if (press !== undefined) {
      const question = () => fresh().find(({ buttons }) => buttons.length > 0);
      await until(() => question() !== undefined, "a question");
      const asked = question();
      if (asked !== undefined) await person.press(asked, press);
    }
    const events = await eventsOf(service, text);
    const said = fresh().filter((each) => !/^(?:Working|Queued)/.test(each.text));
    return { chat: id, answer: said.at(-1)?.text ?? "", said: said.map(seen), events };
  };
}

function seen({ message_id: _id, buttons: _buttons, ...said }: SeenMessage): SaidMessage {
  return said;
}

const REASON_LINES = 12;
const REASON_LENGTH = 200;

function reasonLines(error: unknown): readonly string[] {
  const lines = (error instanceof Error ? error.message : String(error))
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.slice(0, REASON_LINES).map((line) => `    ${makeVisible(line.slice(0, REASON_LENGTH))}`);
}

/** Why a case failed; nothing where it did not. */
async function problemsOf({ run }: MatrixRow, world: MatrixWorld, seconds: number): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Not finished after ${seconds} s`)), seconds * 1000);
  });
  try {
    await Promise.race([run(world), late]);
    return [];
  } catch (error) {
    return reasonLines(error);
  } finally {
    clearTimeout(timer);
  }
}

async function runRows(rows: readonly MatrixRow[], { world, relay, seconds }: Running): Promise<number> {
  const width = Math.max(...rows.map(({ tool }) => tool.length)) + 2;
  let failed = 0;
  for (const row of rows) {
    const begun = performance.now();
    const refusals = relay.refused.length;
    const reasons = await problemsOf(row, world, seconds);
    if (reasons.length > 0) failed += 1;
    const took = ((performance.now() - begun) / 1000).toFixed(1);
    const refused = relay.refused
      .slice(refusals, refusals + REASON_LINES)
      .map(
        ({ method, status, description }) =>
          `    the Bot API rejected ${method}: ${status} ${makeVisible(description)}`,
      );
    const outcome = reasons.length === 0 ? "ok" : "FAILED";
    const line = `${row.tool.padEnd(width)}${outcome.padEnd(8)}${took.padStart(6)} s  ${row.title}`;
    process.stdout.write(`${[line, ...reasons, ...refused].join("\n")}\n`);
  }
  process.stdout.write(`${rows.length - failed} passed, ${failed} failed\n`);
  return failed;
}

interface Running {
  readonly world: MatrixWorld;
  readonly relay: Person["relay"];
  readonly seconds: number;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const rows = chosenRows(values.tool);
  const seconds = Number(values.seconds);
  if (!(seconds > 0 && seconds <= 3600))
    throw new UsageError(`Invalid --seconds "${values.seconds}": expected a number up to 3600`);
  const outside = outsideApi(values.chat);
  if (outside === undefined && values["by-hand"])
    throw new UsageError("--by-hand needs a bot: set AUTONOUS_TELEGRAM_TOKEN");
  const problem = outside && (await problemOf(outside));
  if (problem !== undefined)
    throw new UsageError(`Cannot run the matrix: ${problem.replaceAll(outside?.token ?? "", "…")}`);
  clearSettings();
  const ending: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ending.splice(0).toReversed()) await end();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void close().then(() => process.exit(130)));
  try {
    const place = scratchPlace((end) => void ending.push(end));
    const open = values["by-hand"] ? byHand : played;
    const person = outside === undefined ? await inEmulator(place) : await open(place, outside);
    const api = outside === undefined ? "the emulator" : `${outside.api_root}, chat ${outside.chat}`;
    process.stdout.write(`${rows.length} cases with ${api}\n`);
    const world = await openWorld(place, person);
    return (await runRows(rows, { world, relay: person.relay, seconds })) === 0 ? 0 : 1;
  } finally {
    await close();
  }
}

/** What a case that took too long still waits for does not keep it from ending. */
try {
  process.exit(await main());
} catch (error) {
  const isUsage =
    error instanceof UsageError || (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS") === true;
  process.stderr.write(`${isUsage ? (error as Error).message : (error as Error).stack}\n`);
  process.exit(2);
}
