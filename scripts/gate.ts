/**
 * `npm test`: every check there is, each one to its end, whatever the others say. The last line counts them.
 * `--no-skips` fails when a test was skipped because a program is missing.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const cache = join(root, "node_modules/.cache/gate");
const report = join(cache, "tests.json");
mkdirSync(cache, { recursive: true });
rmSync(report, { force: true });

const COVERAGE = [
  "--coverage",
  "--coverage.provider=v8",
  "--coverage.include=packages/runtime/src/policy/**",
  "--coverage.thresholds.branches=100",
  "--coverage.reporter=text-summary",
];

// oxfmt-ignore
const CHECKS: readonly (readonly [name: string, program: string, ...words: string[]])[] = [
  ["types",          "tsc", "-p", "tsconfig.json"],
  ["lint",           "oxlint", "--type-aware", "--deny-warnings"],
  ["format",         "oxfmt", "--check"],
  ["architecture",   "node", "scripts/check-architecture.ts"],
  ["duplicates",     "node", "scripts/check-duplicates.ts"],
  ["unused exports", "knip"],
  ["lock file",      "node", "scripts/check-lock.ts"],
  ["docs",           "node", "scripts/docs.ts"],
  ["build",          "node", "scripts/build.ts"],
  ["tests",          "vitest", "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...COVERAGE],
];

const failed: string[] = [];
for (const [name, program, ...words] of CHECKS) {
  const start = Date.now();
  const { status } = spawnSync(join(root, "node_modules/.bin", program), words, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, NODE_COMPILE_CACHE: join(cache, "compiled") },
  });
  if (status !== 0) failed.push(name);
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

function readReport(): Report {
  try {
    return JSON.parse(readFileSync(report, "utf8")) as Report;
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 }; // no report: the check "tests" has failed
  }
}

const { numPassedTests, numFailedTests, numPendingTests } = readReport();
const skipsMatter = process.argv.includes("--no-skips") && numPendingTests > 0;
if (skipsMatter) console.log(`FAILED ${numPendingTests} tests were skipped`);
if (failed.length > 0) console.log(`Failed: ${failed.join(", ")}`);
const checks = CHECKS.length - 1; // the tests count one by one
const failedChecks = failed.filter((name) => name !== "tests").length;
// A suite that broke before its tests ran has no failed test to count.
const failedTests = failed.includes("tests") ? Math.max(1, numFailedTests) : numFailedTests;
const wrong = failedChecks + failedTests + (skipsMatter ? 1 : 0);
console.log(
  `${numPassedTests + checks - failedChecks} passed, ${wrong} failed${numPendingTests > 0 ? `, ${numPendingTests} skipped` : ""}`,
);
process.exitCode = wrong === 0 && numPassedTests > 0 ? 0 : 1;
