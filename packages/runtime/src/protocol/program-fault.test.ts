import { expect, test } from "vitest";
import { faultReason, installationOf, isProgramReplaced } from "./program-fault.ts";

const CLONE = installationOf("/opt/src/autonous/packages/runtime/src/protocol");
const INSTALLED = installationOf("/usr/lib/node_modules/autonous/dist/bin");
const REPLACED = "the program was replaced or removed while it was running; restart it";

function failure(message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { stack: "", ...more });
}

test("an installation is a clone's packages, or the folder that all packages are installed in", () => {
  expect(CLONE).toEqual(["/opt/src/autonous/packages", "/opt/src/autonous/node_modules"]);
  expect(INSTALLED).toEqual(["/usr/lib/node_modules"]);
  const nested = "/usr/lib/node_modules/autonous/node_modules/@autonous/runtime/dist/protocol";
  expect(installationOf(nested)).toEqual(INSTALLED);
});

// oxfmt-ignore
const CASES = [
  { title: "a module of a clone",      folders: CLONE,     error: failure("Cannot find module '/opt/src/autonous/packages/runtime/src/a.ts' imported from /opt/src/autonous/packages/runtime/src/b.ts", { code: "ERR_MODULE_NOT_FOUND" }) },
  { title: "a package",                folders: INSTALLED, error: failure("Cannot find package 'yaml' imported from /usr/lib/node_modules/autonous/dist/a.js", { code: "ERR_MODULE_NOT_FOUND" }) },
  { title: "a part of the bundle",     folders: INSTALLED, error: failure("Cannot find module './run-1a2b.js'\nRequire stack:\n- /usr/lib/node_modules/autonous/dist/bin/autonous.js", { code: "MODULE_NOT_FOUND" }) },
  { title: "a file beside the code",   folders: INSTALLED, error: failure("ENOENT: no such file or directory, open '/usr/lib/node_modules/autonous/schema/a.json'", { code: "ENOENT", path: "/usr/lib/node_modules/autonous/schema/a.json" }) },
  { title: "a native library",         folders: INSTALLED, error: failure("/usr/lib/node_modules/x/x.node: cannot open shared object file", { code: "ERR_DLOPEN_FAILED" }) },
] as const;

for (const { title, folders, error } of CASES) {
  test(`${title} that is gone is told as a program that was replaced, without a path`, () => {
    expect(isProgramReplaced(error, folders)).toBe(true);
    expect(faultReason(error, folders)).toBe(REPLACED);
  });
}

test("an export that another version does not have is told the same way", () => {
  const error = new SyntaxError("The requested module './a.ts' does not provide an export named 'b'");
  error.stack = "file:///opt/src/autonous/packages/runtime/src/b.ts:1\nimport { b } from './a.ts';";
  expect(faultReason(error, CLONE)).toBe(REPLACED);
});

test("what a user's own module or folder lacks is told as it is", () => {
  const module = failure("Cannot find package 'pg' imported from /home/ada/tools.ts", { code: "ERR_MODULE_NOT_FOUND" });
  const file = failure("ENOENT: no such file or directory, open '/srv/a'", { code: "ENOENT", path: "/srv/a" });
  for (const error of [module, file]) {
    expect(isProgramReplaced(error, INSTALLED)).toBe(false);
    expect(faultReason(error, INSTALLED)).toBe(error.message);
  }
});

test("other faults name no file of the installation", () => {
  const error = failure(
    "Bad state (at file:///usr/lib/node_modules/autonous/dist/a.js:3:1) and '/usr/lib/node_modules/zod/b.js' in /srv/work",
  );
  expect(faultReason(error, INSTALLED)).toBe("Bad state (at [program file]) and '[program file]' in /srv/work");
  expect(faultReason("text", INSTALLED)).toBe("text");
});
