import { judgeChange } from "./verdict.ts";
import type { Expected, Verdict } from "./verdict.ts";
import { inWorkspace } from "./workspace.ts";

interface EditCase {
  readonly id: string;
  readonly name: string;
  readonly input: {
    readonly content: string;
    readonly old: string;
    readonly new: string;
    readonly replace_all: boolean;
  };
  readonly expect: {
    readonly mode: "must" | "must_fail" | "fuzzy" | "either" | "mixed_endings";
    readonly result?: string;
    readonly allowed_results?: readonly string[];
    readonly or_error?: boolean;
  };
}

const FILE = "f.txt";
const REFUSAL: Expected = { ok: false };

function becomes(content: string): Expected {
  return { ok: true, files_after: { [FILE]: content } };
}

/** `edit.json`: one search and replacement per case. */
export async function* runEdits(document: unknown): AsyncIterable<Verdict> {
  const { cases } = document as { readonly cases: readonly EditCase[] };
  for (const each of cases) {
    const { content, old, new: replace, replace_all } = each.input;
    const args = { path: FILE, find: old, replace, ...(replace_all ? { all: true } : {}) };
    const call = { tool: "edit", args, any_of: outcomesOf(each) };
    yield await inWorkspace({ [FILE]: content }, {}, (workspace) => judgeChange(each, call, workspace));
  }
}

function outcomesOf({ input, expect }: EditCase): Expected[] {
  const { content, old, new: replace } = input;
  const results = expect.result === undefined ? (expect.allowed_results ?? []) : [expect.result];
  // oxfmt-ignore
  switch (expect.mode) {
    case "must":          return results.map(becomes);
    case "must_fail":     return [REFUSAL];
    case "fuzzy":
    case "either":        return [...(expect.or_error === false ? [] : [REFUSAL]), ...results.map(becomes)];
    case "mixed_endings": return [becomes(content.split(old).join(replace))];
  }
}

interface MultiEditCase {
  readonly id: string;
  readonly name: string;
  readonly input: {
    readonly content: string;
    readonly edits: readonly { readonly oldText: string; readonly newText: string }[];
  };
  readonly references: Readonly<Record<string, { readonly ok: boolean; readonly result?: string }>>;
}

/** `multi-edit.json`: several edits of one file in one call. The other project's result is the expected one. */
export async function* runMultiEdits(document: unknown): AsyncIterable<Verdict> {
  const { cases } = document as { readonly cases: readonly MultiEditCase[] };
  for (const each of cases) {
    const { content, edits } = each.input;
    const [reference] = Object.values(each.references);
    const args = { path: FILE, edits: edits.map(({ oldText, newText }) => ({ find: oldText, replace: newText })) };
    const any_of = [reference?.ok === true ? becomes(reference.result ?? "") : REFUSAL];
    yield await inWorkspace({ [FILE]: content }, {}, (workspace) =>
      judgeChange(each, { tool: "edit", args, any_of }, workspace),
    );
  }
}
