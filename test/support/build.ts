/**
 * Builds the packages before the tests that run them as they are published, unless that is done already. The tests get a
 * copy of the command line: another build in the meantime does not take it away under them.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const PACKAGES = ["packages/runtime", "packages/autonous"] as const;

/** Gives what is to be done when all tests are over. */
export function setup(): () => void {
  if (!isBuilt()) execFileSync(process.execPath, [join(root, "scripts/build.ts")], { stdio: "inherit" });
  const copy = mkdtempSync(join(tmpdir(), "autonous-built-"));
  for (const name of ["package.json", "dist/bin"]) {
    cpSync(join(root, "packages/autonous", name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  process.env["BUILT_PROGRAM"] = join(copy, "dist/bin/autonous.js");
  return () => rmSync(copy, { recursive: true });
}

function isBuilt(): boolean {
  const built = statSync(join(root, "packages/autonous/dist/bin/autonous.js"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Math.max(...sources().map((path) => statSync(path).mtimeMs)) < built;
}

/** Everything that the build is made of. Folders too: their time says that a file came or went. */
function sources(): string[] {
  const shared = ["scripts/build.ts", "tsconfig.base.json", "package-lock.json"].map((name) => join(root, name));
  const own = PACKAGES.flatMap((name) => {
    const folder = join(root, name);
    const inside = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => !path.endsWith(".test.ts"))
      .map((path) => join(folder, "src", path));
    return [join(folder, "package.json"), join(folder, "tsconfig.build.json"), ...inside];
  });
  return [...shared, ...own];
}
