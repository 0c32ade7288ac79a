/** Fails when the lock file lacks a platform's package (`npm install` accepts that, `npm ci` does not) or names a host. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const text = readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8");
const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, Locked>> };
const have = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, "")));

const problems = Object.entries(packages).flatMap(([path, locked]) => [
  ...Object.keys(locked.optionalDependencies ?? {})
    .filter((name) => !have.has(name))
    .map((name) => `${path || "the root"} names ${name}, which is not locked`),
  ...(locked.hasInstallScript === true ? [`${path} runs a script when it is installed`] : []),
  ...(/^https?:/.test(locked.resolved ?? "") ? [`${path} is tied to one registry`] : []),
]);
for (const problem of problems) console.error(problem);
console.log(`lock file: ${have.size} packages, ${problems.length} problems`);
process.exitCode = problems.length === 0 && have.size > 0 ? 0 : 1;
