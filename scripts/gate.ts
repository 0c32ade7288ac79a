/**
 * `npm test`: every check, each to its end, even if others fail. The last line counts them.
 * `--no-skips` fails when a test was skipped because a program is missing.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const cache = join(root, "node_modules/.cache/gate");
const POLICY = "packages/runtime/src/policy/**";
mkdirSync(cache, { recursive: true });

/** Separate from the other tests, which take longer while branches are counted. */
const COVERAGE = [
  "--coverage",
  "--coverage.provider=v8",
  `--coverage.include=${POLICY}`,
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
  ["words",          "node", "scripts/check-words.ts"],
  ["unused exports", "knip"],
  ["lock file",      "node", "scripts/check-lock.ts"],
  ["docs",           "node", "scripts/docs.ts"],
  ["build",          "node", "scripts/build.ts"],
  ["policy tests",   "vitest", ...reported("policy"), "packages/runtime/src/policy/", ...COVERAGE],
  ["tests",          "vitest", ...reported("others"), `--exclude=${POLICY}`],
];
const SUITES = { "policy tests": "policy", tests: "others" } as const;

function reported(suite: string): readonly string[] {
  return ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${reportOf(suite)}`];
}

function reportOf(suite: string): string {
  return join(cache, `${suite}.json`);
}

for (const suite of Object.values(SUITES)) rmSync(reportOf(suite), { force: true });
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

function readReport(suite: string): Report {
  try {
    return JSON.parse(readFileSync(reportOf(suite), "utf8")) as Report;
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 }; // no report: its check has failed
  }
}

const counts = Object.entries(SUITES).map(([name, suite]) => {
  const { numPassedTests, numFailedTests, numPendingTests } = readReport(suite);
  // A suite that failed before its tests ran has no failed test to count.
  const wrong = failed.includes(name) ? Math.max(1, numFailedTests) : numFailedTests;
  return { passed: numPassedTests, wrong, skipped: numPendingTests };
});
const total = (kind: keyof (typeof counts)[number]): number => counts.reduce((sum, count) => sum + count[kind], 0);

const skipped = total("skipped");
const skipsMatter = process.argv.includes("--no-skips") && skipped > 0;
if (skipsMatter) console.log(`FAILED ${skipped} tests were skipped`);
if (failed.length > 0) console.log(`Failed: ${failed.join(", ")}`);
const checks = CHECKS.length - counts.length; // the tests count one by one
const failedChecks = failed.filter((name) => !(name in SUITES)).length;
const wrong = failedChecks + total("wrong") + (skipsMatter ? 1 : 0);
console.log(
  `${total("passed") + checks - failedChecks} passed, ${wrong} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
);
process.exitCode = wrong === 0 && counts.every(({ passed }) => passed > 0) ? 0 : 1;
