/** Builds both packages for publishing: the libraries file by file, the command line as a bundle that starts fast. */
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";

const root = join(import.meta.dirname, "..");
const compiler = join(root, "node_modules/.bin/tsc");

for (const name of ["runtime", "autonous"]) {
  const folder = join(root, "packages", name);
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  // Without our own condition, so that one package sees the other as whoever installs it does.
  execFileSync(compiler, ["-p", join(folder, "tsconfig.build.json")], {
    stdio: "inherit",
    env: { ...process.env, NODE_OPTIONS: "" },
  });
}

/**
 * Node's `Headers` bring all of its `fetch` along, which takes longer to load than Node itself to start. The library for
 * models uses them to put a record together, and requests are made without `fetch`.
 */
const lightHeaders = {
  name: "light-headers",
  transform: {
    filter: { id: /@ai-sdk\/provider-utils\/dist\/index\.js$/ },
    handler: (code: string): string =>
      `class Headers extends Map { constructor(given = {}) { super(Object.entries(given)); } }\n${code}`,
  },
};

const product = join(root, "packages/autonous");
rmSync(join(product, "dist/cli"), { recursive: true, force: true });
await build({
  input: { autonous: join(product, "src/cli/bin.ts") },
  platform: "node",
  plugins: [lightHeaders],
  // It finds its binary beside itself.
  external: ["@vscode/ripgrep"],
  resolve: { conditionNames: ["@autonous/source", "import", "node", "default"] },
  output: {
    // Node makes a facade of every built-in module that ES modules import; CommonJS does without.
    format: "cjs",
    dir: join(product, "dist/bin"),
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    // One letter beyond ASCII makes a file twice as large in memory, and it is read whole at every start.
    charset: "ascii",
    minify: { mangle: false, compress: true, codegen: true },
  },
  logLevel: "warn",
});
writeFileSync(join(product, "dist/bin/package.json"), '{ "type": "commonjs" }\n');
chmodSync(join(product, "dist/bin/autonous.js"), 0o755);
