/**
 * `npm run pack`: one file for `npm install --global`, with the library inside, every dependency by its version and
 * checksum, and the Node.js to run on. Prints its name.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = join(import.meta.dirname, "..");
const target = resolve(process.argv[2] ?? root);
const LIBRARY = "@autonous/runtime";

interface Manifest {
  readonly version: string;
  readonly files: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest;
}

const [product, library, node] = ["packages/autonous", "packages/runtime", "tools/node-runtime"].map(manifestOf) as [
  Manifest,
  Manifest,
  Manifest,
];
const manifest: Manifest = {
  ...product,
  files: [...product.files, "npm-shrinkwrap.json"],
  dependencies: { ...library.dependencies, ...product.dependencies },
  optionalDependencies: node.optionalDependencies ?? {},
  bundleDependencies: [LIBRARY],
};

/** The tested versions, without development dependencies. */
function lockedPackages(): Record<string, unknown> {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const kept = Object.entries(packages).flatMap(([path, locked]) =>
    locked.dev === true || locked.devOptional === true || locked.link === true || !path.includes("node_modules/")
      ? []
      : [[path.replace(/^packages\/\w+\//, ""), locked] as const],
  );
  const { version } = library;
  return { "": manifest, ...Object.fromEntries(kept), [`node_modules/${LIBRARY}`]: { version, inBundle: true } };
}

/** Dependencies of the bundled library become the product's: npm does not install those of a package inside another one. */
const { dependencies: _, engines: __, ...inside } = library;
const stage = mkdtempSync(join(tmpdir(), "autonous-pack-"));
try {
  copyPackage("packages/autonous", product, stage);
  copyPackage("packages/runtime", library, join(stage, "node_modules", LIBRARY));
  writeJson(join(stage, "node_modules", LIBRARY, "package.json"), inside);
  writeJson(join(stage, "package.json"), manifest);
  const { version } = product;
  writeJson(join(stage, "npm-shrinkwrap.json"), {
    name: "autonous",
    version,
    lockfileVersion: 3,
    packages: lockedPackages(),
  });
  execFileSync("npm", ["pack", "--silent", "--pack-destination", target], { cwd: stage, stdio: "inherit" });
} finally {
  rmSync(stage, { recursive: true, force: true });
}

function copyPackage(folder: string, { files }: Manifest, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of [...files, "package.json", "README.md", "LICENSE"])
    cpSync(join(root, folder, name), join(to, name), { recursive: true });
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}
