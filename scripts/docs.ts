/** The reference pages in `docs/` and the published schema are made from the tables in the code. `--write` makes them; without it they are compared. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ERRORS, createRuntime } from "@autonous/runtime";
import { EVENTS, labelled, runtimeEvent } from "@autonous/runtime/internal";
import { COMMANDS } from "../packages/autonous/src/cli/all.ts";
import { makeConfigurationSchema } from "../packages/autonous/src/config/settings-schema.ts";
import { FROM_PROJECT, SETTINGS } from "../packages/autonous/src/config/settings.ts";
import { LIST_PRICES } from "../packages/autonous/src/model/prices/list-prices.ts";
import { METRICS } from "../packages/autonous/src/telemetry/metric-table.ts";
import { schemaOf } from "../packages/runtime/src/contract/tool.ts";
import { EVENT_PAYLOADS } from "../packages/runtime/src/protocol/event-payloads.ts";
import { memoryOf } from "../packages/autonous/src/store/tool-memory.ts";
import { RUN_LATER } from "../packages/runtime/src/policy/run-later.ts";
import { BUILT_IN } from "../packages/runtime/src/tools/all.ts";
import { libraryPage } from "./library-reference.ts";

const root = join(import.meta.dirname, "..");

type Row = readonly string[];

function table(head: Row, rows: readonly Row[]): string {
  const line = (cells: Row): string => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const code = (text: string): string => `\`${text}\``;

function errors(): string {
  const rows = Object.entries(ERRORS).map(([name, { class: errorClass, hint }]) => [code(name), errorClass, hint]);
  return `# Errors\n\nEvery way a call can fail. \`message\` says what was wrong, \`hint\` what to do next.\n\n${table(["code", "class", "hint"], rows)}\n`;
}

function events(): string {
  const rows = Object.entries(EVENTS).map(([name, meaning]) => [code(name), meaning]);
  const envelope = Object.keys(runtimeEvent.shape).map(code).join(", ");
  const parts = Object.entries(EVENT_PAYLOADS).map(([name, fields]) => {
    const payload = Object.entries(fields).map(([field, meaning]) => [
      code(field.replace(/\?$/, "")),
      field.endsWith("?") ? "no" : "yes",
      meaning,
    ]);
    const about =
      payload.length === 0 ? "Not recorded in this version." : table(["field", "always", "meaning"], payload);
    return `### ${name}\n\n${about}\n`;
  });
  return `# Events\n\nOne append-only chain per run; [ARCHITECTURE.md](../ARCHITECTURE.md) says how it is kept. Each event has ${envelope}.\n\n${table(["type", "what happened"], rows)}\n\n## Payloads\n\nWhat \`payload\` holds. Texts are redacted before they are recorded.\n\n${parts.join("\n")}`;
}

function settings(): string {
  const rows = Object.entries(SETTINGS).map(([name, row]) => [
    code(row.variable) + ("also" in row ? ` or ${code(row.also)}` : ""),
    row.kind.type === "secret" ? "no" : code(name),
    "fits" in row ? row.fits.to : row.default === undefined ? "none" : code(String(row.default)),
    FROM_PROJECT[row.project],
    row.meaning,
  ]);
  return `# Settings\n\nThe environment comes first (of two variables the one that begins with \`AUTONOUS_\`), then the user's \`$XDG_CONFIG_HOME/autonous/config.json\`, then the default; a project's \`.agent/config.json\` may narrow what comes out of that ([configuration.md](configuration.md)). \`autonous doctor\` shows what is in force and where it came from.\n\n${table(["variable", "in the file", "default", "from a project", "meaning"], rows)}\n\nThe files may also hold \`tools\`, \`rules\`, \`quotas\`, \`network\`, \`approve\` and \`reverse_thinking\`: see [policy.md](policy.md).\n`;
}

function commands(): string {
  const parts = COMMANDS.map((command) => {
    const usage = ["autonous", command.name, ...(command.args ?? []).map(({ name }) => name)].join(" ");
    const options = [...(command.args ?? []), ...(command.options ?? [])].map(({ name, short, meaning }) => [
      [...(short === undefined ? [] : [short]), name].map(code).join(", "),
      meaning,
    ]);
    return [
      `## ${command.name}`,
      "",
      `${command.summary}.`,
      "",
      "```",
      usage,
      "```",
      "",
      ...(options.length === 0 ? [] : [table(["argument", "meaning"], options), ""]),
      ...(command.notes === undefined ? [] : ["```", ...command.notes, "```", ""]),
    ].join("\n");
  });
  const common =
    "Every command takes `--json` (one JSON document on stdout, people's text on stderr) and `--help`; those that work on a workspace also `--root <folder>` and `--state-dir <folder>`.";
  const exits =
    "Exit codes: 0 done, 1 the thing failed, 2 used wrongly or validation, 3 denied by policy, 4 approval needed, 124 timed out, 130 interrupted. With `-`: 0 once every line is answered.";
  return `# Commands\n\n${common}\n\n${exits}\n\n${parts.join("\n")}`;
}

function metrics(): string {
  const rows = Object.entries(METRICS).map(([name, { type, labels, help }]) => [
    code(name),
    type,
    labels.map(code).join(", "),
    help,
  ]);
  const about =
    "What `GET /metrics` tells, in the text format of Prometheus; [operations.md](operations.md) says how to scrape it. Counters and histograms begin at 0 when the service starts and count what is recorded from then on. Times are seconds. A metric has at most 500 combinations of labels; what comes then is counted with `other`.";
  return `# Metrics\n\n${about}\n\n${table(["metric", "type", "labels", "meaning"], rows)}\n`;
}

async function tools(): Promise<string> {
  const state_dir = join(import.meta.dirname, "../node_modules/.cache/autonous-docs");
  const runtime = await createRuntime({ roots: [import.meta.dirname], state_dir, memory: memoryOf(state_dir) });
  const offered = runtime.tools();
  await runtime.close();
  const parts = offered.map((tool) => {
    const properties = Object.entries(
      tool.args_schema["properties"] as Record<string, { description?: string; type?: string; default?: unknown }>,
    );
    const rows = properties.map(([name, { description = "", type = "", default: fallback }]) => [
      code(name),
      type,
      fallback === undefined ? "" : code(JSON.stringify(fallback)),
      description,
    ]);
    const facts = `Risk ${tool.risk ?? "depends on the arguments"}; permissions ${tool.required_permissions.join(", ") || "none"}; aliases ${tool.aliases.join(", ") || "none"}; label ${(labelled(tool).labels ?? ["none"]).join(", ")}.`;
    return `## ${tool.name}\n\n${tool.description}\n\n${facts}\n\n${table(["argument", "type", "default", "meaning"], rows)}\n`;
  });
  return `# Tools\n\n${parts.join("\n")}`;
}

function prices(): string {
  const amount = (value: number | undefined): string => (value === undefined ? "" : String(value));
  const parts = LIST_PRICES.map(({ as_of, source, kinds, models }) => {
    const rows = Object.entries(models).flatMap(([name, { long, until, ...row }]) => {
      const line = (when: string, { input, output, cached, written }: Partial<typeof row>): Row => [
        `${code(name)}${when}`,
        ...[input, output, cached, written].map(amount),
      ];
      return [
        line(until === undefined ? "" : ` until ${until.day}`, row),
        ...(until === undefined ? [] : [line(" afterwards", until.afterwards)]),
        ...(long === undefined ? [] : [line(` above ${long.above} input tokens`, long.price ?? {})]),
      ];
    });
    const head = ["model", "input", "output", "from the cache", "into the cache"];
    return `## ${kinds.map((kind) => code(`${kind}:`)).join(", ")}\n\nAs of ${as_of}. Check them on the page of the provider: <${source}>.\n\n${table(head, rows)}\n`;
  });
  const about =
    "List prices that are built in, in US dollars per million tokens, at the standard tier, collected from the providers' announcements and pages and from other people's copies of those: the provider's own page decides. `prices` in your own configuration come first ([configuration.md](configuration.md)); give them for every model that you use if you count in another currency. An empty field is a price that is not known: for the cache, tokens then count as other input; a request without any price, and every model that is not listed here, has an unknown cost, which is shown as such and never as 0. A name with a day at its end (`-20251001`) is priced as the model without it. `autonous doctor` and `/cost` in a chat say which price counts.";
  return `# Prices\n\n${about}\n\n${parts.join("\n")}`;
}

function runLater(): string {
  const rows = RUN_LATER.map(({ why, reader, source, paths }) => [paths.map(code).join(" "), reader, why, source]);
  const about =
    "Files that a program runs or obeys later, without a person asking for it. [policy.md](policy.md) says what that means for a call. A name without a leading `/` counts at any depth, in any case; `**` stands for any number of folders, and what lies below a folder belongs to it. A source is a manual page by its name and section, or other documentation by its title.";
  return `# Files that run later\n\n${about}\n\n${table(["names", "who reads them, and when", "what the caller is told", "source"], rows)}\n`;
}

function argsSchemas(): string {
  const rows = BUILT_IN.map(({ name, args }) => `  ${name}: ${JSON.stringify(schemaOf(args))},`);
  const about =
    "/** What callers have to send to each built-in tool: made of their `args` by `npm run docs`, and held to them by a check. */";
  const head = `import type { JsonSchema } from "../contract/tool.ts";\n\n${about}\n// oxfmt-ignore`;
  return `${head}\nexport const ARGS_SCHEMAS: Readonly<Record<string, JsonSchema>> = {\n${rows.join("\n")}\n};\n`;
}

/** The index as it is, with the list of decisions made from their headings. */
function index(): string {
  const [head = ""] = readFileSync(join(root, "docs/README.md"), "utf8").split(/^- \d+: /m);
  const folder = join(root, "docs/decisions");
  const decisions = readdirSync(folder)
    .toSorted()
    .map((file) => {
      const [, number = "", title = ""] = /^# (\d+)\. (.+)$/m.exec(readFileSync(join(folder, file), "utf8")) ?? [];
      return `- ${number}: [${title}](decisions/${file})\n`;
    });
  return `${head}${decisions.join("")}`;
}

const pages: Readonly<Record<string, string>> = {
  "docs/README.md": index(),
  "docs/errors.md": errors(),
  "docs/events.md": events(),
  "docs/settings.md": settings(),
  "docs/commands.md": commands(),
  "docs/metrics.md": metrics(),
  "docs/prices.md": prices(),
  "docs/run-later.md": runLater(),
  "docs/tools.md": await tools(),
  "docs/library.md": libraryPage(
    join(root, "packages/runtime/src/index.ts"),
    table,
    join(root, "packages/autonous/src/index.ts"),
  ),
  "packages/runtime/src/tools/schemas.ts": argsSchemas(),
  "packages/autonous/schema/config.schema.json": `${JSON.stringify(makeConfigurationSchema(), null, 2)}\n`,
};

let wrong = 0;
const listed = pages["docs/README.md"] ?? "";
for (const page of readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md") && name !== "README.md")) {
  if (listed.includes(`](${page})`)) continue;
  console.error(`docs/README.md does not list docs/${page}: add a row for it`);
  wrong++;
}
for (const [name, text] of Object.entries(pages)) {
  const path = join(root, name);
  if (process.argv.includes("--write")) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    console.error(`${name} is not what its table says: run npm run docs`);
    wrong++;
  }
}
console.log(`docs: ${Object.keys(pages).length} pages, ${wrong} out of date`);
process.exitCode = wrong === 0 ? 0 : 1;
