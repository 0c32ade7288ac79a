/** Builds the packages before the tests that run them as they are published; does nothing where that is done already. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const PACKAGES = ["packages/runtime", "packages/autonous"] as const;

export function setup(): void {
  const built = statSync(join(root, "packages/autonous/dist/bin/autonous.js"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (Math.max(...sources().map((path) => statSync(path).mtimeMs)) < built) return;
  execFileSync(process.execPath, [join(root, "scripts/build.ts")], { stdio: "inherit" });
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
