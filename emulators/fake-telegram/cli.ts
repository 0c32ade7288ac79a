/** `npm run fake-telegram -- --help` */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { CONTROL_HELP } from "./control/control.ts";
import { FAULTS } from "./faults.ts";
import type { FaultInput } from "./faults.ts";
import { SOMEONE } from "./people/groups.ts";
import { startFakeTelegram, TELEGRAM_LIMITS } from "./server.ts";
import type { FakeTelegram, FakeTelegramOptions, SeenCall } from "./server.ts";

const HELP = `Usage: npm run fake-telegram -- [options] [-- command…]

Telegram's Bot API on loopback, which refuses what the real one refuses. With a command: runs it with the variables of
Autonous set, and ends with it. Without: prints the variables, and serves until it is stopped.

  --user <id>       an allowed user (${SOMEONE}), repeatable
  --token <token>   the only valid token
  --no-privacy      give the bot all messages of groups (else: commands, its name, replies to it)
  --limits          refuse what comes faster than Telegram takes it
  --fault <fault>   kind[:name=value,…], repeatable: rate_limited:method=sendMessage,retry_after_s=3
  --port <n>        (a free one)
  --log             one line of JSON on stderr for each call
  --help

To talk to the bot, while it runs (curl -d '/ls src' "$FAKE_TELEGRAM_URL/say"; curl "$FAKE_TELEGRAM_URL/messages"):
${CONTROL_HELP.replaceAll(/^/gm, "  ").trimEnd()}

Faults:
${Object.entries(FAULTS)
  .map(([kind, meaning]) => `  ${kind.padEnd(16)}${meaning}\n`)
  .join("")}`;

const OPTIONS = {
  user: { type: "string", multiple: true },
  token: { type: "string" },
  "no-privacy": { type: "boolean", default: false },
  limits: { type: "boolean", default: false },
  fault: { type: "string", multiple: true },
  port: { type: "string", default: "0" },
  log: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

function read(): ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>> {
  return parseArgs({ options: OPTIONS, allowPositionals: true });
}

/** `kind:name=value,name=value`. What is wrong in it is said when the server starts. */
function faultOf(text: string): FaultInput {
  const [kind = "", settings = ""] = text.split(/:(.*)/s);
  const pairs = settings === "" ? [] : settings.split(",").map((each) => each.split("="));
  const fields = pairs.map(([name = "", value = ""]) => [
    name,
    /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value,
  ]);
  return { kind, ...Object.fromEntries(fields) } as FaultInput;
}

function numberOf(text: string, name: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`Cannot use --${name} "${text}": it takes a number`);
  return Number(text);
}

function optionsOf(values: ReturnType<typeof read>["values"]): FakeTelegramOptions {
  return {
    port: numberOf(values.port, "port"),
    ...(values.token === undefined ? {} : { token: values.token }),
    privacy: !values["no-privacy"],
    ...(values.limits ? { limits: TELEGRAM_LIMITS } : {}),
    faults: (values.fault ?? []).map(faultOf),
    ...(values.log ? { onCall: logCall } : {}),
  };
}

function logCall({ method, chat, status, description, fault }: SeenCall): void {
  process.stderr.write(`${JSON.stringify({ method, chat, status, description, fault })}\n`);
}

function variablesOf({ url, token }: FakeTelegram, users: readonly number[]): Readonly<Record<string, string>> {
  return {
    AUTONOUS_TELEGRAM_API_ROOT: url,
    AUTONOUS_TELEGRAM_TOKEN: token,
    AUTONOUS_TELEGRAM_ALLOWED_USERS: users.join(","),
    FAKE_TELEGRAM_URL: url,
  };
}

/** npm changes to the folder of the package; the command is meant where the user is. */
function userFolder(): string {
  const { npm_lifecycle_event, INIT_CWD } = process.env;
  return resolve(npm_lifecycle_event === "fake-telegram" && INIT_CWD !== undefined ? INIT_CWD : process.cwd());
}

async function runCommand(
  [program = "", ...words]: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<number> {
  const child = spawn(program, words, { stdio: "inherit", cwd: userFolder(), env: { ...process.env, ...variables } });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGTERM", pass).on("SIGINT", () => undefined); // Ctrl-C reaches the command by itself; this waits for it
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

async function main(): Promise<number> {
  const { values, positionals } = read();
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const users = (values.user ?? [String(SOMEONE)]).map((each) => numberOf(each, "user"));
  const telegram = await startFakeTelegram(optionsOf(values));
  try {
    const variables = variablesOf(telegram, users);
    if (positionals.length > 0) return await runCommand(positionals, variables);
    for (const [name, value] of Object.entries(variables)) process.stdout.write(`export ${name}=${value}\n`);
    await new Promise((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
    return 0;
  } finally {
    await telegram.close();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
