/** Builds both packages for publishing: the libraries file by file, the command line as a bundle that starts fast. */
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, rolldown } from "rolldown";
import type { InputOptions } from "rolldown";
import { applyPatch, PATCHES } from "./bundle-patches.ts";

const root = join(import.meta.dirname, "..");
const compiler = join(root, "node_modules/.bin/tsc");

for (const name of ["runtime", "autonous"]) {
  const folder = join(root, "packages", name);
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  // Without our own condition, so that one package sees the other as an installed dependency.
  execFileSync(compiler, ["-p", join(folder, "tsconfig.build.json")], {
    stdio: "inherit",
    env: { ...process.env, NODE_OPTIONS: "" },
  });
}

const product = join(root, "packages/autonous");
const program = join(product, "src/cli/bin.ts");
const source: InputOptions = {
  input: { autonous: program },
  platform: "node",
  plugins: PATCHES.map(applyPatch),
  // It locates its binary relative to itself.
  external: ["@vscode/ripgrep"],
  resolve: { conditionNames: ["@autonous/source", "import", "node", "default"] },
  preserveEntrySignatures: false,
  logLevel: "warn",
};

/**
 * The modules that each of these needs are one file, except those that an earlier one needs: every additional file takes time
 * at every start, and so does unused code.
 */
const STARTS = ["cli/main.ts", "cli/commands/redact.ts", "cli/commands/call.ts", "cli/commands/run.ts"] as const;

interface Group {
  readonly name: string;
  readonly test: (id: string) => boolean;
  readonly priority: number;
}

async function findGroups(): Promise<Group[]> {
  const bundle = await rolldown({ ...source, logLevel: "silent" });
  const { output } = await bundle.generate({ format: "cjs" });
  await bundle.close();
  const chunks = new Map(output.filter((part) => part.type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  return STARTS.map((start, i) => {
    const files = new Set(
      [...chunks.values()]
        .filter(({ facadeModuleId }) => facadeModuleId?.endsWith(start))
        .map((chunk) => chunk.fileName),
    );
    if (files.size === 0) throw new Error(`No chunk starts with "${start}"`);
    for (const file of files) for (const needed of chunks.get(file)?.imports ?? []) files.add(needed);
    const modules = new Set([...files].flatMap((file) => chunks.get(file)?.moduleIds ?? []));
    const name = start.replace(/^.*\/|\.ts$/g, "");
    return { name, test: (id) => modules.has(id) && id !== program, priority: STARTS.length - i };
  });
}

rmSync(join(product, "dist/cli"), { recursive: true, force: true });
await build({
  ...source,
  output: {
    // Node creates a facade for every built-in module that ES modules import, but not for CommonJS.
    format: "cjs",
    dir: join(product, "dist/bin"),
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    // One non-ASCII character doubles the file's size in memory, and the file is read completely at every start.
    charset: "ascii",
    minify: { mangle: false, compress: true, codegen: true },
    codeSplitting: { groups: await findGroups(), includeDependenciesRecursively: false },
  },
});
writeFileSync(join(product, "dist/bin/package.json"), '{ "type": "commonjs" }\n');
chmodSync(join(product, "dist/bin/autonous.js"), 0o755);
