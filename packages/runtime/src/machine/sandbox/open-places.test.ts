import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { Command } from "../../contract/processes.ts";
import type { Launch } from "../processes/launch.ts";
import { findProgram, PROGRAMS } from "../processes/programs.ts";
import { runCommand } from "../processes/run.ts";
import { openSandbox } from "./sandbox.ts";

const hasBwrap = (await findProgram("bwrap", { roots: [] })) !== undefined;
const needs = hasBwrap ? "" : ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})`;
const limits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };

test.skipIf(!hasBwrap)(
  `a yes to changing what runs later opens packages, and nothing of the program in them${needs}`,
  async () => {
    const { path, make, read } = await scratchFolder();
    await make({
      "state/": "",
      "home/": "",
      "root/node_modules/@own/program/x.js": "own",
      "root/node_modules/a/x.js": "a",
    });
    const modules = join(path, "root/node_modules");
    const why = "this program runs it";
    const sandbox = await openSandbox({
      mode: "auto",
      workspace: {
        roots: [join(path, "root")],
        home: join(path, "home"),
        state_dirs: [join(path, "state")],
        git_places: [
          { path: join(modules, "@own/program"), why, is_program: true },
          { path: join(modules, "missing"), why, is_program: true },
          { path: modules, why, is_program: true, is_packages: true },
        ],
      },
      state_dir: join(path, "state"),
      limits,
    });
    onTestFinished(() => sandbox.close());
    const run = async (cmd: string, opens?: Command["opens"]): Promise<void> => {
      const launch = (): Launch => sandbox.launch({ run: cmd, cwd: join(path, "root"), ...(opens && { opens }) });
      const signal = new AbortController().signal;
      await runCommand(launch, { timeout_ms: 20_000, signal, call_id: "t", limits });
    };
    const change = "echo new > node_modules/a/x.js; echo new > node_modules/@own/program/x.js";
    const move = "mv node_modules/@own aside; mv node_modules aside";
    await run(`${change}; ${move}`);
    expect([await read("root/node_modules/a/x.js"), await read("root/node_modules/@own/program/x.js")]).toEqual([
      "a",
      "own",
    ]);
    await run(`${change}; ${move}`, { paths: [], later: true });
    expect(await read("root/node_modules/a/x.js")).toBe("new\n");
    expect(await read("root/node_modules/@own/program/x.js")).toBe("own");
    // A word that leads to one package opens the folder around it, and not the program.
    await run(`${change}; mkdir node_modules/b; ${move}`, { paths: [join(modules, "b")] });
    expect(existsSync(join(modules, "b"))).toBe(true);
    expect(await read("root/node_modules/@own/program/x.js")).toBe("own");
    await run(change, { paths: [join(modules, "@own/program/x.js")] });
    expect(await read("root/node_modules/@own/program/x.js")).toBe("new\n");
  },
);
