import { existsSync } from "node:fs";
import type { MemoryEntry, MemoryKeeper, MemoryPage } from "@autonous/runtime/internal";
import { databaseFile, openStore } from "../../store/open-store.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { readLimit } from "../options.ts";
import { table } from "../output/table.ts";

const NOTHING: MemoryPage = { entries: [], more: false };

/** `autonous memory list`. */
export async function list(input: CommandInput): Promise<ExitCode> {
  const limit = readLimit(input.options["limit"], 20);
  const page = await withMemory(input, NOTHING, (memory) => memory.list({ limit }));
  return showPage(page, input, "No memory entries");
}

/** `autonous memory search`. */
export async function search(input: CommandInput): Promise<ExitCode> {
  const limit = readLimit(input.options["limit"], 20);
  const query = input.args.join(" ");
  const page = await withMemory(input, NOTHING, (memory) => memory.search(query, { limit }));
  return showPage(page, input, "No entry contains all of these words");
}

function showPage({ entries, more }: MemoryPage, { print }: CommandInput, none: string): ExitCode {
  const rows = [["ENTRY", "CHANGED", "TITLE", "KNOWLEDGE"], ...entries.map(toRow)];
  if (print.json) print.document(entries);
  else if (entries.length === 0) print.note(none);
  else print.text(table(rows, { width: print.textWidth, fixed: 2, last: "cut" }));
  if (more) print.note(`More entries: raise --limit (now ${entries.length})`);
  return EXIT.done;
}

function toRow({ id, title, knowledge, updated_at }: MemoryEntry): string[] {
  return [id, timeOf(updated_at), title, knowledge.replaceAll(/\s+/g, " ")];
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString().replace(/:\d\d\.\d+Z$/, "Z");
}

/** `autonous memory show`. */
export async function show(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const [id = ""] = args;
  const entry = await withMemory(input, undefined, (memory) => memory.get(id));
  if (entry === undefined) throw noEntry(id);
  if (print.json) print.document(entry);
  const facts = [
    ["entry", entry.id],
    ["title", entry.title],
    ["created", timeOf(entry.created_at)],
    ["changed", timeOf(entry.updated_at)],
  ];
  print.text(`${table(facts, { width: print.textWidth })}\n\n${entry.knowledge}`);
  return EXIT.done;
}

/** `autonous memory delete`. */
export async function remove(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const [id = ""] = args;
  const removed = await withMemory(input, undefined, (memory) => memory.remove(id));
  if (removed === undefined) throw noEntry(id);
  if (print.json) print.document(removed);
  print.note(`Deleted "${removed.title}": ${removed.knowledge}`);
  return EXIT.done;
}

function noEntry(id: string): UsageError {
  return new UsageError(`No memory entry "${id}"; "autonous memory list" shows all entries`);
}

/** Creates nothing: a state folder without a store has no memory entries. */
async function withMemory<T>(input: CommandInput, none: T, work: (memory: MemoryKeeper) => Promise<T>): Promise<T> {
  const file = databaseFile(findWorkplace(input).state_dir);
  if (!existsSync(file)) return none;
  const store = await openStore({ file, clock: Date.now });
  try {
    return await work(store.memory);
  } finally {
    await store.close();
  }
}
