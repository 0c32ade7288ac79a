import { spawnSync } from "node:child_process";
import { linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { recoverChanges } from "./recover-changes.ts";

const HERE = import.meta.dirname;

/** Records a command's changes, then undoes them, until the process is killed at one of the calls that change files. */
function program(root: string, state_dir: string, killAt: number): string {
  return `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    import { execFileSync } from "node:child_process";
    const root = ${JSON.stringify(root)};
    const state_dir = ${JSON.stringify(state_dir)};
    let left = ${killAt};
    globalThis.armed = false;
    for (const name of ["renameSync", "unlinkSync", "mkdirSync", "rmdirSync", "symlinkSync", "chmodSync", "linkSync"]) {
      const call = fs[name];
      fs[name] = (...args) => {
        if (globalThis.armed && --left === 0) process.kill(process.pid, "SIGKILL");
        return call(...args);
      };
    }
    syncBuiltinESMExports();
    const { createFileChanger } = await import(${JSON.stringify(join(HERE, "file-changer.ts"))});
    const { createCommandWatch } = await import(${JSON.stringify(join(HERE, "../watch/command-watch.ts"))});
    const { netOf } = await import(${JSON.stringify(join(HERE, "../../tools/net-change.ts"))});
    const workspace = { roots: [root], home: "/none", state_dirs: [state_dir], checkpoint_handler: false, sandbox: "none" };
    const changer = createFileChanger({ state_dir, clock: Date.now, workspace });
    const watch = createCommandWatch({ state_dir, changer, workspace, cwd: root });
    const about = { run_id: "run_1", tool_call_id: "call_1", signal: new AbortController().signal, recorded: async () => {} };
    const look = await watch.before(about);
    execFileSync("bash", ["-c", "echo new > a; rm b; rm -r folder; rm link; mkdir -p x/y; echo n > x/y/n; chmod 700 c; ln -s a m; rm one; echo x >> l/two; ln -f b2 c2"], { cwd: root });
    const { undo_id } = await look.after();
    const items = netOf(await changer.undoLog.find({ undo_id }));
    globalThis.armed = true;
    await changer.restore({ ...about, force: false }, items);
    globalThis.armed = false;
    watch.close();
    await changer.close();
  `;
}

function snapshot(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return Object.fromEntries(
    names.map((name) => {
      const path = join(folder, name);
      const stats = lstatSync(path);
      const mode = (stats.mode & 0o777).toString(8);
      if (stats.isSymbolicLink()) return [name, `-> ${readlinkSync(path)}`];
      const others = names.filter((other) => lstatSync(join(folder, other)).ino === stats.ino).join(" ");
      return [name, stats.isDirectory() ? mode : `${mode} ${readFileSync(path, "utf8")} (${others})`];
    }),
  );
}

test("an undo that is killed at any step is completed by the next start", { timeout: 900_000 }, async () => {
  for (let killAt = 1; ; killAt++) {
    const { path } = await scratchFolder();
    const root = join(path, "root");
    const state_dir = join(path, "state");
    mkdirSync(join(root, "folder/deep"), { recursive: true });
    mkdirSync(join(root, "l"));
    mkdirSync(state_dir);
    for (const name of ["a", "b", "c", "folder/d", "folder/deep/e"]) writeFileSync(join(root, name), name);
    symlinkSync("a", join(root, "link"));
    for (const name of ["one", "b2", "c2"]) writeFileSync(join(root, name), "same");
    for (const name of ["l/two", "l/three"]) linkSync(join(root, "one"), join(root, name));
    const before = snapshot(root);

    const { signal, status } = spawnSync(
      process.execPath,
      ["--input-type=module-typescript", "-e", program(root, state_dir, killAt)],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    const workspace = { roots: [root], home: "/none", state_dirs: [state_dir], checkpoint_handler: false };
    const { left } = await recoverChanges(state_dir, workspace);

    expect(left).toEqual([]);
    if (signal === null) {
      expect(status).toBe(0);
      expect(killAt).toBeGreaterThan(10);
      expect(snapshot(root)).toEqual(before);
      return;
    }
    const found = snapshot(root);
    // Killed before it was recorded, so nothing was done.
    if ("m" in found) expect(found["a"]).toBe("644 new\n (a)");
    else expect(found).toEqual(before);
  }
});
