/** Fails when an import goes up a layer, a folder uses I/O without permission, or a file is too long. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

/** The runtime's entry points for the product. */
const RUNTIME = ["@autonous/runtime", "@autonous/runtime/internal"];
const PURE = ["node:path", "node:crypto"];
const FILES = ["node:fs", "node:fs/promises", "node:os"];
const MACHINE = [...PURE, ...FILES, "node:child_process", "node:net", "node:http", "node:stream"];
const NETWORK = ["node:dns/promises", "node:tls", "node:zlib", "node:stream/promises"];
const PROVIDERS = [
  "@ai-sdk/provider",
  "@ai-sdk/anthropic",
  "@ai-sdk/google",
  "@ai-sdk/openai",
  "@ai-sdk/openai-compatible",
];
const OPENTELEMETRY = [
  "@opentelemetry/api",
  "@opentelemetry/exporter-trace-otlp-http",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace",
];
const MAX_LINES = 300;

interface Rule {
  /** Our folders that it may import. */
  readonly ours: readonly string[];
  /** Modules from outside that it may import. */
  readonly outside: readonly string[];
}

/** Marks a folder that assembles its package, as the files at the root of `src` do: it may import all of the package. */
const ALL = ["*"];

/** ARCHITECTURE.md draws this table. Files at the root of a package's `src` build the package and may import all of it. */
// oxfmt-ignore
const RULES: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  runtime: {
    protocol: { ours: [],                                                                   outside: ["zod", "node:crypto"] },
    "own-files": { ours: ["protocol"],                                                      outside: [...FILES, "node:path"] },
    contract: { ours: ["protocol"],                                                         outside: ["zod"] },
    paths:    { ours: [],                                                                   outside: [] },
    redact:   { ours: ["protocol"],                                                         outside: [] },
    shell:    { ours: ["protocol", "text"],                                                 outside: ["unbash"] },
    policy:   { ours: ["protocol", "contract", "paths", "shell"],                           outside: PURE },
    output:   { ours: ["protocol", "contract", "text"],                                     outside: PURE },
    skills:   { ours: ["protocol"],                                                         outside: ["yaml"] },
    text:     { ours: ["protocol"],                                                         outside: ["turndown"] },
    edits:    { ours: ["protocol", "text"],                                                 outside: ["diff"] },
    machine:  { ours: ["protocol", "own-files", "contract", "paths", "policy", "redact", "output", "skills", "text"],   outside: [...MACHINE, ...NETWORK, "@vscode/ripgrep"] },
    journal:  { ours: ["protocol", "own-files", "contract"],                                outside: [...PURE, ...FILES] },
    tools:    { ours: ["protocol", "contract", "paths", "output", "text", "edits"],         outside: ["zod", ...PURE] },
    gate:     { ours: ["protocol", "contract", "policy", "output", "redact", "shell", "edits"], outside: ["zod", ...PURE] },
    options:  { ours: ALL,                                                                  outside: PURE },
    late:     { ours: ALL,                                                                  outside: [...PURE, ...FILES] },
    runs:     { ours: ALL,                                                                  outside: [...PURE, ...FILES] },
    start:    { ours: ALL,                                                                  outside: [...PURE, ...FILES, "node:stream", "node:string_decoder"] },
  },
  autonous: {
    config:     { ours: [],                                                                 outside: [...PURE, ...FILES, "node:module", "node:url", "zod", ...RUNTIME] },
    store:      { ours: [],                                                                 outside: [...PURE, ...FILES, "node:sqlite", "node:timers/promises", ...RUNTIME] },
    model:      { ours: [],                                                                 outside: [...PURE, ...PROVIDERS, "node:http", "node:https", "node:fs/promises", "node:timers/promises", "zod", ...RUNTIME] },
    agent:      { ours: ["model"],                                                          outside: [...PURE, ...RUNTIME] },
    received:   { ours: ["agent", "model", "store"],                                        outside: [...PURE, ...FILES, "zod", ...RUNTIME] },
    queue:      { ours: ["agent", "model", "received", "store"],                            outside: [...PURE, ...RUNTIME] },
    workplace:  { ours: ["agent", "config", "model", "store"],                              outside: [...PURE, ...FILES, ...RUNTIME] },
    adapters:   { ours: ["model"],                                                          outside: [...RUNTIME] },
    supervisor: { ours: ["config", "model"],                                                outside: [...MACHINE, ...RUNTIME] },
    telemetry:  { ours: ["model", "store"],                                                 outside: [...PURE, ...OPENTELEMETRY, ...RUNTIME] },
    upkeep:     { ours: ["queue", "store"],                                                 outside: [...PURE, ...FILES, ...RUNTIME] },
    channels:   { ours: ["model", "queue", "received", "store", "telemetry"],               outside: [...MACHINE, "grammy", "grammy/types", "node:https", "node:timers/promises", "node:readline", "node:tty", "node:util", "marked", "hono", "hono/body-limit", "hono/secure-headers", "hono/streaming", "@hono/node-server", "zod", ...RUNTIME] },
    service:    { ours: ["config", "store", "model", "agent", "queue", "supervisor", "channels", "telemetry", "upkeep", "workplace"], outside: [...PURE, ...FILES, ...RUNTIME] },
    cli:        { ours: ["config", "store", "model", "agent", "received", "queue", "supervisor", "channels", "telemetry", "upkeep", "workplace", "service"], outside: [...MACHINE, "node:module", "node:tty", "node:string_decoder", "node:stream/promises", "zod", ...RUNTIME] },
  },
};

interface Rooms {
  /** Its rooms, lowest first: each may import those before it. */
  readonly order: readonly string[];
  /** Files of the folder itself that every room may import: its contract. The others assemble the folder from its rooms. */
  readonly contract: readonly string[];
}

/** Folders whose own folders have an order. */
// oxfmt-ignore
const ROOMS: Readonly<Record<string, Readonly<Record<string, Rooms>>>> = {
  runtime: {
    machine:  { order: ["system", "tree", "git", "files", "network", "processes", "search", "sandbox", "watch", "notes", "skills", "state"], contract: [] },
    gate:     { order: ["quota", "context", "steps", "approval"],   contract: ["draft-event.ts", "evaluate.ts", "parked.ts", "parts.ts", "permit.ts", "registry.ts", "stages.ts"] },
  },
  autonous: {
    store:    { order: ["sqlite", "record", "keepers", "queue"],    contract: ["store.ts", "store-error.ts"] },
    channels: { order: ["words", "terminal", "http", "telegram"],   contract: [] },
  },
};

const IMPORT = /^\s*(?:import|export)\b[^;"']*?from\s*"([^"$]+)"|\bimport\(\s*"([^"]+)"\s*\)|^\s*import\s*"([^"]+)"/gm;

/** Every violation in the packages below a folder, and the number of checked files. */
export function findViolations(packagesFolder: string): {
  readonly problems: readonly string[];
  readonly files: number;
} {
  const problems: string[] = [];
  let files = 0;
  for (const packageName of Object.keys(RULES)) {
    const root = join(packagesFolder, packageName, "src");
    const named = new Map<string, string>();
    for (const file of readdirSync(root, { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
      files++;
      const namesake = named.get(basename(file));
      if (namesake !== undefined) problems.push(`${packageName}/${file}: "${namesake}" has the same name`);
      named.set(basename(file), file);
      const text = readFileSync(join(root, file), "utf8");
      const lines = text.split("\n").length - 1;
      if (lines > MAX_LINES && !file.includes("/migrations/"))
        problems.push(`${packageName}/${file}: ${lines} lines, at most ${MAX_LINES}`);
      problems.push(...checkImports(text, { packageName, file }));
    }
  }
  return { problems, files };
}

function checkImports(text: string, { packageName, file }: { packageName: string; file: string }): string[] {
  const folder = folderOf(file);
  if (folder === "") return [];
  const rule = RULES[packageName]?.[folder];
  if (rule === undefined) return [`${packageName}/${file}: the folder "${folder}" has no rule`];
  const problems: string[] = [];
  for (const match of text.matchAll(IMPORT)) {
    const target = match[1] ?? match[2] ?? match[3] ?? "";
    const inside = target.startsWith(".")
      ? folderOf(relative(".", join(dirname(file), target))) || "(src root)"
      : undefined;
    const allowed =
      inside === undefined
        ? rule.outside.includes(target)
        : inside === folder || rule.ours === ALL || rule.ours.includes(inside);
    if (!allowed) problems.push(`${packageName}/${file}: "${folder}" may not import "${inside ?? target}"`);
    const rooms = ROOMS[packageName]?.[folder];
    if (rooms !== undefined && inside === folder)
      problems.push(
        ...checkRooms(file.slice(folder.length + 1), target, rooms).map((why) => `${packageName}/${file}: ${why}`),
      );
  }
  return problems;
}

/** `file` is relative to the folder that has the rooms. */
function checkRooms(file: string, target: string, { order, contract }: Rooms): readonly string[] {
  const room = folderOf(file);
  if (room === "") return [];
  if (!order.includes(room)) return [`the room "${room}" has no place in the order`];
  const imported = join(dirname(file), target);
  const other = folderOf(imported);
  if (other === "") return contract.includes(imported) ? [] : [`"${room}" may not import "${imported}"`];
  return order.indexOf(other) <= order.indexOf(room) ? [] : [`"${room}" may not import "${other}", which is above it`];
}

function folderOf(file: string): string {
  return file.includes("/") ? file.slice(0, file.indexOf("/")) : "";
}

if (import.meta.main) {
  const { problems, files } = findViolations(join(import.meta.dirname, "../packages"));
  for (const problem of problems) console.error(problem);
  console.log(`architecture: ${files} files, ${problems.length} problems`);
  process.exitCode = problems.length === 0 && files > 0 ? 0 : 1;
}
