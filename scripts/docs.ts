/** Generates the reference pages in `docs/` and the published schema from the tables in the code. With `--write` they are written, else compared. */
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
import { RUN_LATER } from "../packages/runtime/src/policy/paths/run-later.ts";
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
  return `# Errors\n\nEvery way a call can fail. \`message\` says what went wrong, \`hint\` what to do next.\n\n${table(["code", "class", "hint"], rows)}\n`;
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
  return `# Events\n\nOne append-only chain per run; [ARCHITECTURE.md](../ARCHITECTURE.md) explains how it is stored. Each event has ${envelope}.\n\n${table(["type", "what happened"], rows)}\n\n## Payloads\n\nThe fields of \`payload\`. Texts are redacted before they are recorded.\n\n${parts.join("\n")}`;
}

function settings(): string {
  const rows = Object.entries(SETTINGS).map(([name, row]) => [
    code(row.variable) + ("also" in row ? ` or ${code(row.also)}` : ""),
    row.kind.type === "secret" ? "no" : code(name),
    "fits" in row ? row.fits.to : row.default === undefined ? "none" : code(String(row.default)),
    FROM_PROJECT[row.project],
    row.meaning,
  ]);
  return `# Settings\n\nPrecedence: the environment (of two variables, the one that begins with \`AUTONOUS_\`), then the user's \`$XDG_CONFIG_HOME/autonous/config.json\`, then the default; a project's \`.agent/config.json\` may restrict the result ([configuration.md](configuration.md)). \`autonous doctor\` shows the active values and their sources.\n\n${table(["variable", "in the file", "default", "from a project", "meaning"], rows)}\n\nThe files may also have \`tools\`, \`rules\`, \`quotas\`, \`network\`, \`approve\` and \`reverse_thinking\`: see [policy.md](policy.md).\n`;
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
    "Every command accepts `--json` (one JSON document on stdout, readable text on stderr) and `--help`; commands that use a workspace also accept `--root <folder>` and `--state-dir <folder>`.";
  const exits =
    "Exit codes: 0 success, 1 failure, 2 usage error or invalid input, 3 denied by policy, 4 approval required, 124 timeout, 130 interrupted. With `-`: 0 once every line has a result.";
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
    "The metrics of `GET /metrics`, in the Prometheus text format; [operations.md](operations.md) explains how to scrape them. Counters and histograms start at 0 when the service starts and count events from then on. Times are in seconds. A metric has at most 500 combinations of labels; further ones are counted as `other`.";
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
    return `## ${kinds.map((kind) => code(`${kind}:`)).join(", ")}\n\nAs of ${as_of}. Check them on the provider's page: <${source}>.\n\n${table(head, rows)}\n`;
  });
  const about =
    "Built-in list prices, in US dollars per million tokens, at the standard tier, collected from the providers' announcements and pages and from copies of those; the provider's own page is authoritative. `prices` in your own configuration override them ([configuration.md](configuration.md)); set them for every model that you use if you count in another currency. An empty field is an unknown price: for the cache, tokens then count as other input; a request without any price, and every model that is not listed here, has an unknown cost, which is shown as unknown and never as 0. A name that ends in a date (`-20251001`) has the price of the model without it. `autonous doctor` and `/cost` in a chat show which price applies.";
  return `# Prices\n\n${about}\n\n${parts.join("\n")}`;
}

function runLater(): string {
  const rows = RUN_LATER.map(({ why, reader, source, paths }) => [paths.map(code).join(" "), reader, why, source]);
  const about =
    "Files that a program executes or obeys later, without a user starting it. [policy.md](policy.md) explains what that means for a call. A name without a leading `/` matches at any depth, in any case; `**` stands for any number of folders, and a folder includes everything below it. A source is a manual page by name and section, or other documentation by title.";
  return `# Files that run later\n\n${about}\n\n${table(["names", "who reads them, and when", "reason shown", "source"], rows)}\n`;
}

function argsSchemas(): string {
  const rows = BUILT_IN.map(({ name, args }) => `  ${name}: ${JSON.stringify(schemaOf(args))},`);
  const about =
    "/** The arguments of each built-in tool: generated from `args` by `npm run docs`, and compared with it by a check. */";
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
    console.error(`${name} differs from its table: run npm run docs`);
    wrong++;
  }
}
console.log(`docs: ${Object.keys(pages).length} pages, ${wrong} out of date`);
process.exitCode = wrong === 0 ? 0 : 1;
