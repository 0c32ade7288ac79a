import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "./support/scratch.ts";
import type { Folder } from "./support/scratch.ts";

const root = join(import.meta.dirname, "..");
const environment = { ...process.env, NODE_OPTIONS: "" };

/** A project elsewhere that has both packages as they would be published. What they depend on is linked, not fetched. */
async function installed(): Promise<Folder> {
  const folder = await scratchFolder();
  for (const name of ["runtime", "autonous"]) {
    const packed = execFileSync("npm", ["pack", "--json", "--pack-destination", folder.path], {
      cwd: join(root, "packages", name),
      env: environment,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const found = JSON.parse(packed) as [{ filename: string; name: string }];
    const target = join(folder.path, "node_modules", found[0].name);
    mkdirSync(target, { recursive: true });
    execFileSync("tar", ["xzf", join(folder.path, found[0].filename), "-C", target, "--strip-components=1"]);
    const { dependencies } = JSON.parse(readFileSync(join(target, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    for (const dependency of Object.keys(dependencies).filter((each) => !each.startsWith("@autonous/"))) {
      const link = join(folder.path, "node_modules", dependency);
      mkdirSync(join(link, ".."), { recursive: true });
      if (!readdirSync(join(link, "..")).includes(dependency.split("/").at(-1)!))
        symlinkSync(join(root, "node_modules", dependency), link);
    }
  }
  writeFileSync(join(folder.path, "package.json"), '{ "type": "module" }');
  return folder;
}

test("both packages work where they are installed: library, command line and types", async () => {
  const { path, make } = await installed();
  await make({ "work/a.txt": "a" });

  writeFileSync(
    join(path, "use.mjs"),
    `import { createRuntime, verifyAudit } from "@autonous/runtime";
     import { createProvider } from "autonous";
     const runtime = await createRuntime({ roots: [${JSON.stringify(join(path, "work"))}] });
     const result = await runtime.call({ name: "ls", args: {} });
     await runtime.close();
     console.log(JSON.stringify([result.payload.stdout, (await verifyAudit(runtime.state_dir)).ok, (await createProvider("direct")).name]));`,
  );
  const used = execFileSync(process.execPath, ["use.mjs"], { cwd: path, env: environment, encoding: "utf8" });
  expect(JSON.parse(used)).toEqual(["a.txt\n", true, "direct"]);

  const bin = join(path, "node_modules/autonous/dist/bin/autonous.js");
  const listed = execFileSync(process.execPath, [bin, "call", "ls"], {
    cwd: join(path, "work"),
    env: environment,
    encoding: "utf8",
  });
  expect(listed).toBe("a.txt\n");

  writeFileSync(
    join(path, "types.ts"),
    `import { createRuntime, defineTool, ToolError } from "@autonous/runtime";
     import type { ToolCallResult } from "autonous";
     const runtime = await createRuntime({ roots: ["/"] });
     export const result: ToolCallResult = await runtime.call({ name: "ls", args: {} });
     // @ts-expect-error this profile does not exist
     void createRuntime({ roots: [], profile: "anything" });
     void [defineTool, new ToolError("NotFound", "x")];`,
  );
  symlinkSync(join(root, "node_modules/@types"), join(path, "node_modules/@types"));
  execFileSync(
    join(root, "node_modules/.bin/tsc"),
    [
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "false",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "--types",
      "node",
      "types.ts",
    ],
    { cwd: path, env: environment },
  );
});

test("a command cannot change the program that governs it, where a project has it installed for itself", async () => {
  const { path } = await installed();
  const bin = join(path, "node_modules/autonous/dist/bin/autonous.js");
  const before = readFileSync(bin, "utf8");
  const call = (tool: string, args: object) =>
    spawnSync(process.execPath, [bin, "call", tool, JSON.stringify(args), "--json"], {
      cwd: path,
      env: environment,
      encoding: "utf8",
    });
  // What words show is asked for; what they do not show is read-only.
  const cmds = [
    "echo x >> node_modules/autonous/dist/bin/autonous.js",
    "ls node_modules/autonous/dist/bin | while read -r name; do echo x >> node_modules/autonous/dist/bin/$name; done; false",
    "cd node_modules && node -e 'fs.writeFileSync(`autonous/dist/bin/new.js`, ``)'",
    "touch run.sh && echo 'mv node_modules aside' > run.sh && chmod +x run.sh && ./run.sh",
    "ls node_modules/autonous/dist/bin | (cd node_modules/autonous/dist/bin && xargs -n 1 sed -i 1d)",
  ];
  for (const cmd of cmds) {
    const { status, stdout } = call("bash", { cmd });
    expect({ cmd, status, stdout }).toEqual({
      cmd,
      status: expect.toSatisfy((code) => code === 1 || code === 4) as number,
      stdout: expect.stringMatching(/ApprovalRequired|Read-only|EROFS|busy/) as string,
    });
    expect(readFileSync(bin, "utf8")).toBe(before);
  }
  const edited = call("write", { path: "node_modules/autonous/dist/index.js", content: "x" });
  expect(edited.stdout).toContain("this program runs it");
  // It loads packages of the project's `node_modules`, and would load what is put there: installing is asked for.
  writeFileSync(join(path, "install.sh"), "mkdir node_modules/other");
  const installing = call("bash", { cmd: "bash install.sh" });
  expect(installing.stdout).toMatch(/Read-only file system.*change_run_later/s);
  expect(call("write", { path: "node_modules/other/index.js", content: "x" }).stdout).toContain("this program runs it");
  expect(call("bash", { cmd: "echo y > own.txt && mkdir -p src dist && echo '{}' > package.json" }).status).toBe(0);
});

test("tools keep their caches in the packages of a project that has the program installed, and undo restores them", async () => {
  const { path, make, read } = await installed();
  await make({
    "node_modules/vite/index.js": "",
    "node_modules/.cache/known/old": "old",
    ".gitignore": "node_modules\n",
  });
  await make({
    // As vite, vitest, tsc and babel do it, each with folders above that are not there.
    "run.mjs": `import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
      const modules = new URL("node_modules/", import.meta.url);
      for (const name of [".vite-temp", ".vite/vitest", ".vite/deps_temp", ".cache/babel-loader", ".tmp"]) {
        mkdirSync(new URL(name, modules), { recursive: true });
        writeFileSync(new URL(name + "/made", modules), "made");
      }
      renameSync(new URL(".vite/deps_temp", modules), new URL(".vite/deps", modules));
      rmSync(new URL(".vite-temp/made", modules));
      writeFileSync(new URL(".cache/known/old", modules), "new");`,
  });
  const bin = join(path, "node_modules/autonous/dist/bin/autonous.js");
  const run = (...words: string[]) =>
    spawnSync(process.execPath, [bin, ...words], { cwd: path, env: environment, encoding: "utf8" });
  const ran = run("call", "bash", '{"cmd":"node run.mjs"}', "--json");
  expect(ran).toMatchObject({ status: 0 });
  expect(await read("node_modules/.vite/deps/made")).toBe("made");
  expect(await read("node_modules/.cache/known/old")).toBe("new");
  // Words that name a cache are work like any other.
  expect(run("call", "bash", '{"cmd":"rm -rf node_modules/.vite/deps && touch node_modules/.cache/z"}').status).toBe(0);
  expect(run("call", "write", '{"path":"node_modules/.cache/note","content":"x"}').status).toBe(0);

  const { artifacts } = JSON.parse(ran.stdout) as { artifacts: { undo_id: string } };
  expect(run("undo", artifacts.undo_id).status).toBe(0);
  expect(await read("node_modules/.cache/known/old")).toBe("old");
  expect(existsSync(join(path, "node_modules/.cache/babel-loader"))).toBe(false);
});

test("a command that would install packages beside the program says what to do", async () => {
  const { path, make } = await installed();
  await make({
    "own/package.json": '{ "name": "own", "version": "1.0.0" }',
    "install.sh": "npm install --offline --no-audit --no-fund ./own.tgz",
    "make.mjs": 'import { mkdirSync } from "node:fs"; mkdirSync("node_modules/.unknown/deep", { recursive: true });',
  });
  execFileSync("npm", ["pack", "--silent", "./own"], { cwd: path, env: environment });
  execFileSync("mv", ["own-1.0.0.tgz", "own.tgz"], { cwd: path });
  const bin = join(path, "node_modules/autonous/dist/bin/autonous.js");
  for (const cmd of ["bash install.sh", "npm install --offline --no-audit --no-fund ./own.tgz", "node make.mjs"]) {
    const { status, stderr } = spawnSync(process.execPath, [bin, "call", "bash", JSON.stringify({ cmd })], {
      cwd: path,
      env: environment,
      encoding: "utf8",
    });
    expect({ cmd, status, stderr }).toEqual({
      cmd,
      status: 1,
      stderr: expect.stringMatching(/node_modules is read-only for commands.*"change_run_later": true/s) as string,
    });
  }
  expect(existsSync(join(path, "node_modules/own"))).toBe(false);
});

test("the published packages contain the built code and nothing else", async () => {
  const { path } = await installed();
  for (const name of ["@autonous/runtime", "autonous"]) {
    const files = readdirSync(join(path, "node_modules", name), { recursive: true, encoding: "utf8" });
    expect(files.filter((file) => /\.test\.|(^|\/)src(\/|$)|(?<!\.d)\.ts$/.test(file))).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining(["package.json", "LICENSE", "README.md", "dist/index.js", "dist/index.d.ts"]),
    );
    if (name === "autonous") expect(files).toContain("schema/config.schema.json");
  }
});
