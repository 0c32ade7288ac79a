/** `npm run fake-model -- --help` */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { BEHAVIOURS, echo, readLoop } from "./behaviours.ts";
import type { Behaviour, Responder } from "./behaviours.ts";
import { FAULT_KINDS } from "./fault-kinds.ts";
import { QUIRK_NAMES, QUIRKS } from "./quirks/quirks.ts";
import { readScript } from "./script.ts";
import type { FaultInput } from "./script.ts";
import { startFakeModel } from "./server.ts";
import type { FakeModelOptions, SeenRequest } from "./server.ts";
import { makeVendor, VENDOR_NAMES } from "./vendors/vendors.ts";

const HELP = `Usage: npm run fake-model -- [options] [-- command…]

A model server on loopback that speaks OpenAI chat completions and responses, Anthropic messages and Gemini
generateContent, and rejects what those reject. With a command: runs it with FAKE_MODEL_URL set, and exits with it.

  --script <file>       the replies: {"rounds":[{"text":"…","calls":[{"name":"read","arguments":{…}}]}]}
  --behaviour <name>    without a script: ${BEHAVIOURS.join(", ")} (default echo)
  --reads <n>           read-loop: number of reads (default 40)
  --path <file>         read-loop: the file (default README.md)
  --fault <fault>       kind[:name=value,…], repeatable: rate_limited:round=2,retry_after_s=1
  --quirk <quirk>       the same for every request: text_call_hermes, finish_null:round=1
  --vendor <name>       FAKE_MODEL_URL points to that vendor: <url>/deepseek; clients add /v1
  --list                print the vendors and the quirks
  --chaos <share>       share of requests that fail, from 0 to 1
  --seed <n>            random seed of --chaos (default 1)
  --key <key>           the only valid key (default any)
  --no-key              accept requests without a key
  --model <name>        an available model, repeatable (default any)
  --context-tokens <n>  context window (default 200000)
  --port <n>            port (default a free one)
  --log                 one line of JSON on stderr for each request
  --help

Faults: ${FAULT_KINDS.join(", ")}.
`;

const OPTIONS = {
  script: { type: "string" },
  behaviour: { type: "string", default: "echo" },
  reads: { type: "string", default: "40" },
  path: { type: "string", default: "README.md" },
  fault: { type: "string", multiple: true },
  quirk: { type: "string", multiple: true },
  vendor: { type: "string" },
  list: { type: "boolean", default: false },
  chaos: { type: "string" },
  seed: { type: "string", default: "1" },
  key: { type: "string" },
  "no-key": { type: "boolean", default: false },
  model: { type: "string", multiple: true },
  "context-tokens": { type: "string" },
  port: { type: "string", default: "0" },
  log: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

/** npm changes to the folder of the package; paths are relative to the user's folder. */
function fromUser(path: string): string {
  const { npm_lifecycle_event, INIT_CWD } = process.env;
  return resolve(npm_lifecycle_event === "fake-model" && INIT_CWD !== undefined ? INIT_CWD : process.cwd(), path);
}

function numberOf(text: string, name: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value))
    throw new Error(`Cannot use --${name} "${text}": expected a number`);
  return value;
}

/** `kind:name=value,name=value`. Errors are reported when the server starts. */
function faultOf(text: string): FaultInput {
  const [kind = "", settings = ""] = text.split(/:(.*)/s);
  if (![...FAULT_KINDS, ...QUIRK_NAMES].some((each) => each === kind))
    throw new Error(`Unknown fault or quirk "${kind}"; --help lists the faults, --list the quirks`);
  const pairs = settings === "" ? [] : settings.split(",").map((each) => each.split("="));
  const fields = pairs.map(([name = "", value = ""]) => [
    name,
    /^(?:\d+(?:\.\d+)?|true|false)$/.test(value) ? JSON.parse(value) : value,
  ]);
  return { kind, ...Object.fromEntries(fields) } as FaultInput;
}

function read(): ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>> {
  return parseArgs({ options: OPTIONS, allowPositionals: true });
}

type Values = ReturnType<typeof read>["values"];

function optionsOf(values: Values): FakeModelOptions {
  const responders: Readonly<Record<Behaviour, Responder>> = {
    echo,
    "read-loop": readLoop({ times: numberOf(values.reads, "reads"), path: values.path }),
  };
  if (!BEHAVIOURS.some((name) => name === values.behaviour))
    throw new Error(`Cannot use --behaviour "${values.behaviour}": expected one of ${BEHAVIOURS.join(", ")}`);
  return {
    script:
      values.script === undefined ? responders[values.behaviour as Behaviour] : readScript(fromUser(values.script)),
    faults: [
      ...(values.fault ?? []).map((each) => faultOf(each)),
      ...(values.quirk ?? []).map((each) => ({ times: "always" as const, ...faultOf(each) })),
    ],
    ...(values.chaos === undefined
      ? {}
      : { chaos: { rate: numberOf(values.chaos, "chaos"), seed: numberOf(values.seed, "seed") } }),
    ...(values["no-key"] ? { key: null } : values.key === undefined ? {} : { key: values.key }),
    ...(values.model === undefined ? {} : { models: values.model }),
    ...(values["context-tokens"] === undefined
      ? {}
      : { context_tokens: numberOf(values["context-tokens"], "context-tokens") }),
    port: numberOf(values.port, "port"),
    keep_requests: 0,
    ...(values.log ? { onRequest: logRequest } : {}),
  };
}

function logRequest(seen: SeenRequest): void {
  const { format, path, model, stream, bytes, round, status, fault, violations, billed } = seen;
  const line = { format, path, model, stream, bytes, round, status, fault: fault ?? null, violations, billed };
  process.stderr.write(`${JSON.stringify(line)}\n`);
}

/** Lists all names with their meaning. */
function listing(): string {
  const vendors = VENDOR_NAMES.map((name) => makeVendor(name)).map(
    ({ name, title, model, formats }) =>
      `  ${name.padEnd(12)}${title.padEnd(16)}${formats.map((format) => format.name).join(", ")} (${model})`,
  );
  const quirks = QUIRK_NAMES.map((name) => {
    const { about, client, formats } = QUIRKS[name];
    const where = formats === undefined ? "" : ` [${formats.join(", ")}]`;
    return `  ${name.padEnd(28)}${about}${where}; a client ${client}`;
  });
  return ["Vendors:", ...vendors, "", "Quirks:", ...quirks, ""].join("\n");
}

/** The address for clients: that of the vendor, if one is selected. */
function addressOf(url: string, vendor: string | undefined): string {
  if (vendor === undefined) return url;
  if (!VENDOR_NAMES.some((name) => name === vendor))
    throw new Error(`Cannot use --vendor "${vendor}": expected one of ${VENDOR_NAMES.join(", ")}`);
  return `${url}/${vendor}`;
}

async function runCommand([program = "", ...words]: readonly string[], url: string): Promise<number> {
  const child = spawn(program, words, {
    stdio: "inherit",
    cwd: fromUser("."),
    env: { ...process.env, FAKE_MODEL_URL: url },
  });
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
  if (values.list) {
    process.stdout.write(listing());
    return 0;
  }
  const path = addressOf("", values.vendor);
  const model = await startFakeModel(optionsOf(values));
  try {
    if (positionals.length > 0) return await runCommand(positionals, model.url + path);
    process.stdout.write(`${model.url}${path}\n`);
    await new Promise((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
    return 0;
  } finally {
    await model.close();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
