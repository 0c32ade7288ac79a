import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { autonous } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";

/** A workspace with a state folder, and the environment of its user. */
async function used() {
  const { path, make } = await scratchFolder();
  await make({ "ws/a.txt": "a", "home/": "" });
  const cwd = join(path, "ws");
  const env = {
    HOME: join(path, "home"),
    XDG_STATE_HOME: join(path, "state"),
    XDG_CONFIG_HOME: join(path, "config"),
  };
  expect((await autonous(["call", "write", '{"path":"a.txt","content":"b"}'], { cwd, env })).code).toBe(0);
  return { cwd, env, state: stateOf(cwd, env) };
}

// oxfmt-ignore
const OTHERS = [
  { kind: "a pipe",   make: (path: string) => void execFileSync("mkfifo", [path]) },
  { kind: "a folder", make: (path: string) => mkdirSync(path) },
  { kind: "a device", make: (path: string) => symlinkSync("/dev/zero", path) },
] as const;

for (const { kind, make } of OTHERS) {
  test(`"approvals grants" refuses ${kind} in the place of the grants, and calls go on without it`, async () => {
    const { cwd, env, state } = await used();
    rmSync(join(state, "grants.json"), { force: true });
    make(join(state, "grants.json"));
    const { code, stderr } = await autonous(["approvals", "grants"], { cwd, env });
    expect(code).not.toBe(0);
    // A link is refused with the whole folder.
    expect(stderr).toMatch(
      kind === "a device" ? /grants\.json" in it is a link/ : `grants.json": it is ${kind}, not a regular file`,
    );
    expect(stderr).toMatch(/Move |remove it/);
    if (kind !== "a device") expect((await autonous(["call", "ls"], { cwd, env })).code).toBe(0);
  });

  test(`${kind} in the place of the user's own configuration or record key is refused by name`, async () => {
    const { cwd, env } = await used();
    mkdirSync(join(env.XDG_CONFIG_HOME, "autonous"), { recursive: true });
    make(join(env.XDG_CONFIG_HOME, "autonous", "config.json"));
    const configured = await autonous(["call", "ls"], { cwd, env });
    expect(configured.code).not.toBe(0);
    expect(configured.stderr).toContain(`config.json": it is ${kind}, not a regular file`);
    rmSync(join(env.XDG_CONFIG_HOME, "autonous"), { recursive: true });
    rmSync(join(env.XDG_STATE_HOME, "autonous", "record.key"));
    make(join(env.XDG_STATE_HOME, "autonous", "record.key"));
    const recorded = await autonous(["call", "ls"], { cwd, env });
    expect(recorded.code).not.toBe(0);
    expect(recorded.stdout + recorded.stderr).toContain(`record.key": it is ${kind}, not a regular file`);
  });
}

for (const home of ["rel", "./home", ""]) {
  test(`HOME="${home}" is rejected with a message, and nothing is created`, async () => {
    const { cwd } = await used();
    const env = { HOME: home, XDG_STATE_HOME: "", XDG_CONFIG_HOME: "" };
    for (const words of [
      ["call", "ls"],
      ["approvals", "grants"],
      ["policy", "explain", "ls"],
    ]) {
      const { code, stderr } = await autonous(words, { cwd, env });
      expect(code).not.toBe(0);
      expect(stderr).toContain(`HOME is "${home}", not an absolute path`);
    }
    expect(existsSync(join(cwd, "rel"))).toBe(false);
    expect(existsSync(join(cwd, ".local"))).toBe(false);
    expect(existsSync(join(cwd, "home"))).toBe(false);
  });
}
