import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "@autonous/runtime/internal";
import type { Runtime } from "@autonous/runtime";
import { compare, milliseconds, run } from "./measure.ts";
import type { Compared } from "./measure.ts";
import { callOrThrow, makeWorkspace, openRuntime } from "./place.ts";
import { makeTree } from "./tree.ts";

const rgPath = (await findProgram("rg", { roots: [] })) ?? "rg";

function report(what: string, { ours, floor, ratio }: Compared, target: number): void {
  const times = `p50 ${milliseconds(ours.p50)}; floor ${milliseconds(floor.p50)}`;
  console.log(`${what}: ${times}; ratio ${ratio.toFixed(2)} (target ${target})`);
}

export async function benchSearch(): Promise<void> {
  const workspace = makeWorkspace("tree");
  makeTree(workspace);
  const runtime = await openRuntime(workspace);
  try {
    await benchGrep(runtime, workspace);
    await benchFind(runtime, workspace);
    await benchTogether(runtime, workspace);
    await benchManyMatches();
  } finally {
    await runtime.close();
  }
}

async function benchGrep(runtime: Runtime, workspace: string): Promise<void> {
  const first = await callOrThrow(runtime, "grep", { pattern: "TODO" });
  const lines = first.payload?.stdout.split("\n").length ?? 0;
  const floor = `'${rgPath}' --no-config --sort path -n TODO . | head -n ${lines}`;
  report(
    `grep of 20,000 files, first page (${lines} lines)`,
    await compare(
      20,
      () => callOrThrow(runtime, "grep", { pattern: "TODO" }),
      () => run("/bin/sh", ["-c", floor], workspace),
    ),
    1.3,
  );
  const few = `'${rgPath}' --no-config --sort path -n 'number 19990 ' . | head -n 10`;
  report(
    "grep of 20,000 files, one match in all",
    await compare(
      20,
      () => callOrThrow(runtime, "grep", { pattern: "number 19990 " }),
      () => run("/bin/sh", ["-c", few], workspace),
    ),
    1.3,
  );
}

async function benchFind(runtime: Runtime, workspace: string): Promise<void> {
  const first = await callOrThrow(runtime, "find", { path: ".", name_pattern: "*-42.ts" });
  const { engine = "rg" } = (first.payload?.meta ?? {}) as { engine?: string };
  const rg = ["--no-config", "--files", "--hidden", "--no-require-git", "--type-add=x:*-42.ts", "--type=x", "."];
  const floor =
    engine === "rg"
      ? () => run(rgPath, rg, workspace)
      : () => run(engine, ["--hidden", "--glob", "--", "*-42.ts", "."], workspace);
  report(
    `find among 20,000 files (${engine})`,
    await compare(20, () => callOrThrow(runtime, "find", { path: ".", name_pattern: "*-42.ts" }), floor),
    1.3,
  );
}

/** What an agent asks for in one reply, against the same searches started at once. */
async function benchTogether(runtime: Runtime, workspace: string): Promise<void> {
  const folders = Array.from({ length: 8 }, (_, i) => `package-${i}`);
  const reads = folders.map((folder, i) => ({ name: "read", args: { path: `${folder}/folder-${i}/module-0.ts` } }));
  const greps = folders.map((path) => ({ name: "grep", args: { pattern: "TODO", path } }));
  const floor = (): Promise<unknown> =>
    Promise.all(
      folders.map((folder) =>
        run(rgPath, ["--no-config", "--json", "--sort=path", "TODO", "."], join(workspace, folder)),
      ),
    );
  const ours = async (): Promise<void> => {
    const results = await runtime.callAll([...reads, ...greps]);
    for (const { ok, error } of results) if (!ok) throw new Error(error?.message);
  };
  report("8 reads and 8 greps in one reply", await compare(20, ours, floor), 1.2);
}

async function benchManyMatches(): Promise<void> {
  const workspace = makeWorkspace("matches");
  writeFileSync(
    join(workspace, "big.txt"),
    "a line that matches the needle, and some more text to it\n".repeat(180_000),
  );
  const runtime = await openRuntime(workspace);
  await callOrThrow(runtime, "grep", { pattern: "absent" });
  global.gc?.();
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 2);
  let cursor: string | undefined;
  for (let page = 0; page < 20; page++) {
    const { payload } = await callOrThrow(runtime, "grep", {
      pattern: "needle",
      ...(cursor === undefined ? {} : { cursor }),
    });
    cursor = payload?.next_page_cursor;
    most = Math.max(most, process.memoryUsage().rss);
  }
  clearInterval(watch);
  await runtime.close();
  console.log(
    `grep with 10 MB of matches, 20 pages: memory grew by ${((most - before) / 1024 / 1024).toFixed(0)} MB (target 64)`,
  );
}
