import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { judgeChange } from "./verdict.ts";
import type { Expected, Verdict } from "./verdict.ts";
import { inWorkspace } from "./workspace.ts";
import type { Files } from "./workspace.ts";

interface PatchCase {
  readonly id: string;
  readonly name: string;
  readonly input: { readonly files_before: Files; readonly patch: string };
  readonly expect: Expected | { readonly any_of: readonly Expected[] };
}

interface Patch {
  readonly id: string;
  readonly name: string;
  readonly files: Files;
  readonly patch: string;
  readonly any_of: readonly Expected[];
}

async function run({ id, name, files, patch, any_of }: Patch): Promise<Verdict> {
  return await inWorkspace(files, {}, (workspace) => {
    const args = { patch_text: patch.replaceAll("<CWD>", workspace.root) };
    return judgeChange({ id, name }, { tool: "apply_patch", args, any_of }, workspace);
  });
}

/** `patch.json`. */
export async function* runPatches(document: unknown): AsyncIterable<Verdict> {
  const { cases } = document as { readonly cases: readonly PatchCase[] };
  for (const { id, name, input, expect } of cases) {
    const any_of = "any_of" in expect ? expect.any_of : [expect];
    yield await run({ id, name, files: input.files_before, patch: input.patch, any_of });
  }
}

/** `apply-patch/`: one folder per scenario, with `input/`, `patch.txt` and `expected/`; equal trees mean that the patch is refused. */
export async function* runScenarios(folder: string): AsyncIterable<Verdict> {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of names.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const files = readTree(join(folder, name, "input"));
    const after = readTree(join(folder, name, "expected"));
    const gone = Object.keys(files).filter((path) => !(path in after));
    const isSame = JSON.stringify(files) === JSON.stringify(after);
    const expected: Expected = isSame ? { ok: false } : { ok: true, files_after: after, absent_after: gone };
    const patch = readFileSync(join(folder, name, "patch.txt"), "utf8");
    yield await run({ id: name.slice(0, 3), name, files, patch, any_of: [expected] });
  }
}

function readTree(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]));
}

interface ExtraCases {
  readonly apply_cases: readonly {
    readonly name: string;
    readonly input: Files;
    readonly patch: string;
    readonly expected: Files;
    readonly ok: boolean;
    /** What the peer no longer does itself. */
    readonly obsolete?: boolean;
  }[];
  readonly no_follow_symlink_cases: {
    readonly layout: Readonly<Record<string, string>>;
    readonly patches: readonly string[];
  };
}

/** `apply-patch/extra-cases.json`. */
export async function* runExtraPatches(document: unknown): AsyncIterable<Verdict> {
  const { apply_cases, no_follow_symlink_cases } = document as ExtraCases;
  for (const { name, input, patch, expected, ok, obsolete } of apply_cases) {
    if (obsolete === true) continue;
    const gone = Object.keys(input).filter((path) => !(path in expected));
    const outcome: Expected = ok ? { ok, files_after: expected, absent_after: gone } : { ok };
    yield await run({ id: "extra", name, files: input, patch, any_of: [outcome] });
  }
  const files = linkedFiles(no_follow_symlink_cases.layout);
  for (const [index, patch] of no_follow_symlink_cases.patches.entries()) {
    yield await run({ id: `link-${index}`, name: "a link to the outside", files, patch, any_of: [{ ok: false }] });
  }
}

/** Names are relative to the folder that `work/`, the root, is in. */
function linkedFiles(layout: Readonly<Record<string, string>>): Files {
  return Object.fromEntries(
    Object.entries(layout).map(([name, content]) => {
      const path = name.startsWith("work/") ? name.slice("work/".length) : `../${name}`;
      return [path, content.startsWith("symlink -> ") ? { symlink_to: content.slice("symlink -> ".length) } : content];
    }),
  );
}
