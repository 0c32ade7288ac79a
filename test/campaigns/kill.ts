/** `npm run campaign:kill -- --help` */
import { parseArgs } from "node:util";
import { setup } from "../support/build.ts";
import { runCampaign } from "./kill/campaign.ts";
import type { CampaignResult, Part } from "./kill/campaign.ts";
import { KILLS } from "./kill/kills.ts";

const HELP = `Usage: npm run campaign:kill -- [options]

Runs the built service in scratch folders, submits tasks in many chats (reads, writes, commands, approvals, some
stopped or retried by users) and kills its processes. At the end every accepted task must be answered, in order,
with no call executed twice and nothing left behind. Exit code 1 if a check fails; the folder is then kept.

  --cycles <n>        cycles of tasks, a kill at a random instant, and recovery (default 100)
  --seed <n>          random seed (default 1)
  --part <name>       random: only random kills; boundaries: only a kill after every event of a task; all (default all)
  --side-by-side <n>  services in parallel (default 2)
  --program <file>    run this built autonous.js instead of a build of this tree
  --json              print figures and failures as one line of JSON
  --help

Kills:
${Object.entries(KILLS)
  .map(([name, { meaning }]) => `  ${name.padEnd(20)}${meaning}`)
  .join("\n")}
`;

const OPTIONS = {
  cycles: { type: "string", default: "100" },
  seed: { type: "string", default: "1" },
  part: { type: "string", default: "all" },
  "side-by-side": { type: "string", default: "2" },
  program: { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const PARTS: Readonly<Record<string, readonly Part[]>> = {
  all: ["boundaries", "random"],
  random: ["random"],
  boundaries: ["boundaries"],
};

function readNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`Cannot use --${name} "${text}": expected a number of at least 1`);
  return value;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const parts = PARTS[values.part];
  if (parts === undefined)
    throw new Error(`Cannot use --part "${values.part}": expected one of ${Object.keys(PARTS).join(", ")}`);
  const cycles = readNumber("cycles", values.cycles);
  const seed = readNumber("seed", values.seed);
  const side_by_side = readNumber("side-by-side", values["side-by-side"]);
  const cleanUp = values.program === undefined ? setup() : (): void => undefined;
  const program = values.program ?? process.env["BUILT_PROGRAM"] ?? "";
  try {
    const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);
    const result = await runCampaign({ program, cycles, seed, parts, side_by_side, onProgress });
    process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : textOf(result));
    return result.failures.length === 0 ? 0 : 1;
  } finally {
    cleanUp();
  }
}

function textOf({ figures, failures }: CampaignResult): string {
  const lines = Object.entries(figures).map(([name, value]) => `${name.padEnd(22)}${shown(value)}`);
  const failed = failures.flatMap(({ part, seed, cycle, problems, folder, again }) => [
    "",
    `FAILED: ${part}, seed ${seed}, in or after cycle ${cycle + 1}`,
    ...problems.map((problem) => `  ${problem}`),
    `  folder  ${folder}`,
    `  repeat  ${again}`,
  ]);
  return `${[...lines, ...failed].join("\n")}\n`;
}

function shown(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([name, count]) => `${name} ${String(count)}`)
    .join(", ");
}

if (import.meta.main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 2;
  }
}
