import * as fc from "fast-check";
import { expect, test } from "vitest";
import { any, callOf, manyFiles, TOOLS } from "../../../../../test/support/calls.ts";
import type { GivenCall } from "../../../../../test/support/calls.ts";
import { parseCommands } from "../../shell/parse-commands.ts";
import type { CommandBounds, GrantOffer, GrantPattern } from "../../protocol/approval.ts";
import { isCarrierPattern } from "./carrier-pattern.ts";
import { judgeAddress } from "../check-address.ts";
import type { CallFacts } from "../decide.ts";
import { ruleFor } from "./grant-rule.ts";
import type { CommandGrant } from "./grant-rule.ts";
import { covers, offersFor } from "./grants.ts";

const WORKSPACE = { roots: ["/work"], home: "/home/ann", state_dirs: [] };
const GROUND = { call_digest: "digest", workspace: WORKSPACE };
const FOLDER = { real: "/work", access: "list" } as const;

/** As the gate puts it: the folder that a command runs in is a place that it lists. */
function bash(command: string, network = false): GivenCall {
  return { tool: "bash", command, network, touches: [FOLDER] };
}

function file(tool: "ls" | "write" | "remove", ...reals: readonly string[]): GivenCall {
  const access = tool === "ls" ? "read" : tool === "write" ? "write" : "delete";
  return { tool, touches: reals.map((real) => ({ real, access })), risk: tool === "remove" ? "high" : "low" };
}

function wider(given: GivenCall, roots: readonly string[] = ["/work"]): readonly GrantOffer[] {
  const [exact, ...rest] = offersFor(callOf(given), { ...GROUND, workspace: { ...WORKSPACE, roots } });
  expect(exact).toEqual({
    offer: "exact",
    words: "exactly this call again",
    pattern: { kind: "exact", call_digest: "digest" },
  });
  return rest;
}

// oxfmt-ignore
const OFFERED: readonly { given: GivenCall; words: readonly string[] }[] = [
  { given: bash("git push origin main"),               words: ["`git push origin main` in `/work`, with any options that change only its output"] },
  { given: bash("npm publish"),                        words: ["`npm publish` in `/work`, with any options that change only its output"] },
  { given: bash("npm ci", true),                       words: ["`npm ci` in `/work` with the network, with any options that change only its output"] },
  { given: bash("git push --force"),                   words: ["`git push --force` in `/work`, with any options that change only its output"] },
  { given: bash("npm run build -- --watch"),           words: ["`npm run build -- --watch` in `/work`, with any options that change only its output"] },
  { given: bash("npm run -s build"),                   words: ["`npm run build` in `/work`, with any options that change only its output"] },
  { given: bash("git commit -m 'a b'"),                words: ['`git commit -m "a b"` in `/work`, with any options that change only its output'] },
  { given: bash("make"),                               words: ["`make` in `/work`, with any options that change only its output"] },
  { given: bash("cat a src/b"),                        words: ["`cat <paths below /work>` in `/work`, with any options that change only its output"] },
  { given: bash("cat"),                                words: ["`cat` in `/work`, with any options that change only its output"] },
  { given: bash("ls -la src"),                         words: ["`ls <paths below /work>` in `/work`, with any options that change only its output"] },
  { given: bash("ls -R src"),                          words: ["`ls -R src` in `/work`, with any options that change only its output"] },
  { given: bash("grep -rn x src"),                     words: ["`grep <any text> <paths below /work>` in `/work`, with any options that change only its output"] },
  { given: bash("touch src/a src/b"),                  words: ["`touch <paths below /work/src>` in `/work`, with any options that change only its output"] },
  { given: bash("cp src/a b"),                         words: ["`cp <paths below /work>` in `/work`, with any options that change only its output"] },
  { given: bash("curl -sL https://example.com/a", true), words: ["`curl -sL <addresses of https://example.com>` in `/work` with the network, with any options that change only its output"] },
  { given: bash("curl -d x https://example.com/a", true), words: ["`curl -d x https://example.com/a` in `/work` with the network, with any options that change only its output"] },
  { given: file("write", "/work/src/a.ts"),            words: ["any `write` on `/work/src/a.ts`", "any `write` below `/work/src`"] },
  { given: file("write", "/work/a.ts"),                words: ["any `write` on `/work/a.ts`"] },
  { given: file("remove", "/work/src/a.ts"),           words: ["any `remove` on `/work/src/a.ts`, including deletion", "any `remove` below `/work/src`, including deletion"] },
  { given: file("write", "/work/src/a/b", "/work/src/c"), words: ["any `write` below `/work/src`"] },
  { given: file("write", "/work/src/a", "/work/src/a"), words: ["any `write` on `/work/src/a`", "any `write` below `/work/src`"] },
  { given: { tool: "webfetch", url: "https://example.com/a", risk: "high" }, words: ["any `webfetch` to `example.com`, with any content"] },
  { given: { tool: "plugin", risk: "high" },           words: ["any `plugin`, with any arguments"] },
];

for (const { given, words } of OFFERED) {
  const what = given.command ?? given.url ?? given.touches?.map(({ real }) => real).join(" ") ?? "";
  test(`for ${callOf(given).tool.name} ${what}, a person may also grant: ${words.join("; ")}`, () => {
    expect(wider(given).map((offer) => offer.words)).toEqual(words);
  });
}

// oxfmt-ignore
const ONLY_EXACT: readonly { title: string; given: GivenCall; roots?: readonly string[] }[] = [
  { title: "two commands",                            given: bash("git status && rm -rf tmp") },
  { title: "a pipe",                                  given: bash("git log | head") },
  { title: "a carrier",                               given: bash("bash build.sh") },
  { title: "another carrier",                         given: bash("sudo ls") },
  { title: "a variable for one command",              given: bash("A=1 make deploy") },
  { title: "a redirection",                           given: bash("make deploy > out") },
  { title: "a runner of code",                        given: bash("node server.js") },
  { title: "a runner of packages",                    given: bash("npx cowsay") },
  { title: "the environment",                         given: bash("env A=1 make") },
  { title: "a command that is not known",             given: bash("$X push") },
  { title: "a command that is known in part",         given: bash("git push $(cat x)") },
  { title: "code in a variable",                      given: bash('eval "$X"') },
  { title: "a program of the workspace",              given: bash("./deploy.sh prod") },
  { title: "an option where a subcommand is wanted",  given: bash("git -C other $X") },
  { title: "a subcommand that is not known",          given: bash("git $X") },
  { title: "a risky command with an option to be known later", given: bash('git branch -D "$X" "$Y"') },
  { title: "a risky option with a pattern in it",     given: bash("git branch -D* x") },
  { title: "a path outside the workspace",            given: bash("cat /etc/hosts") },
  { title: "a path in and one outside",               given: bash("cat a ~/b") },
  { title: "a place that is closed",                  given: bash("cat .ssh/id_rsa") },
  { title: "new files without a folder of their own", given: bash("touch /tmp/a b"), roots: ["/"] },
  { title: "addresses of two hosts",                  given: bash("curl https://example.com https://example.org", true) },
  { title: "an address that programs read more into", given: bash("curl 'https://{a,b}.example.com/'", true) },
  { title: "an address with a name in it",            given: bash("curl https://example.com@example.org/", true) },
  { title: "a pattern",                               given: bash("cat *.md") },
  { title: "assignments alone",                       given: bash("A=1") },
  { title: "no command at all",                       given: bash("") },
  { title: "a command of a tool that writes too",     given: { ...bash("git push"), touches: [{ real: "/work/a", access: "write" }] } },
  { title: "a file that runs later",                  given: file("write", "/work/.git/hooks/pre-commit") },
  { title: "a file that runs later, beside others",   given: file("write", "/work/src/a", "/work/src/.envrc") },
  { title: "hidden names",                            given: { tool: "ls", touches: [{ real: "/work/src", access: "list", show_sensitive: true }] } },
  { title: "many files",                              given: { tool: "write", touches: manyFiles(21).map((each) => ({ ...each, real: `/work/src${each.real}` })) } },
  { title: "files without a folder of their own",     given: file("write", "/work/a", "/work/b") },
  { title: "files at the top of the machine",         given: file("write", "/a", "/b"), roots: ["/"] },
  { title: "files of two roots",                      given: file("write", "/work/a/b", "/more/a/b"), roots: ["/work", "/more"] },
  { title: "a path that is too long for a pattern",   given: file("write", `/work/${"a/".repeat(600)}b`) },
  { title: "a risk that the paths do not tell",       given: { ...file("write", "/work/src/a"), risk: "high" } },
  { title: "a tool that names nothing",               given: { tool: "build", risk: "medium" } },
  { title: "an address that is closed",               given: { tool: "webfetch", url: "http://127.0.0.1/" } },
  { title: "an address and a path",                   given: { tool: "upload", url: "https://example.com/", touches: [{}] } },
];

for (const { title, given, roots } of ONLY_EXACT) {
  test(`of ${title}, only the very call is offered`, () => expect(wider(given, roots)).toEqual([]));
}

test("addresses of two hosts are offered only together, as they are", () => {
  const addresses = ["https://a.example/", "https://b.example/"].map((shown) => ({
    shown,
    verdict: judgeAddress(shown, ["*"]),
  }));
  expect(offersFor({ ...callOf({ tool: "webfetch" }), addresses }, GROUND)).toHaveLength(1);
});

const PUSH_WORDS = [{ word: "git" }, { word: "push" }];
const PUSH: CommandGrant & { readonly bounds: CommandBounds } = {
  kind: "command",
  tool: "bash",
  command: "git push",
  network: false,
  risky: true,
  bounds: { folder: "/work", words: PUSH_WORDS },
};
const { bounds: _bounds, ...OLD_PUSH }: CommandGrant = { ...PUSH, command: "git push *" };
const SRC: GrantPattern = { kind: "path", tool: "write", path: "/work/src/**" };
const SITE: GrantPattern = { kind: "domain", tool: "webfetch", domain: "example.com" };
const PLUGIN: GrantPattern = { kind: "tool", tool: "plugin" };

// oxfmt-ignore
const COVERED: readonly { pattern: GrantPattern; given: GivenCall; covered: boolean }[] = [
  { pattern: PUSH, given: bash("git push"),                                   covered: true },
  { pattern: PUSH, given: bash("git push -q"),                                covered: true },
  { pattern: PUSH, given: bash("/usr/bin/git push"),                          covered: false },
  { pattern: PUSH, given: bash("git push --force origin x"),                  covered: false },
  { pattern: PUSH, given: bash("git push && git push"),                       covered: false },
  { pattern: PUSH, given: bash("git push && rm -rf tmp"),                     covered: false },
  { pattern: PUSH, given: bash("git push", true),                             covered: false },
  { pattern: { ...PUSH, network: true }, given: bash("git push", true),       covered: true },
  { pattern: { ...PUSH, network: true }, given: bash("git push"),             covered: true },
  { pattern: { ...PUSH, tool: "sh" }, given: bash("git push"),                covered: false },
  { pattern: { ...PUSH, tool: "*" },  given: bash("git push"),                covered: false },
  { pattern: { ...PUSH, risky: false }, given: bash("git push"),              covered: false },
  { pattern: OLD_PUSH, given: bash("git push"),                               covered: false },
  { pattern: { ...PUSH, bounds: { ...PUSH.bounds, folder: "/work/sub" } }, given: bash("git push"), covered: false },
  { pattern: { ...PUSH, bounds: { folder: "/work", words: [{ word: "cat" }, { slot: "path" }] } }, given: bash("cat a"), covered: false },
  { pattern: { ...PUSH, bounds: { folder: "/work", words: [{ word: "curl" }, { slot: "address" }] } }, given: bash("curl http://a.b/"), covered: false },
  { pattern: PUSH, given: { ...bash("git push"), touches: [FOLDER, { real: "/work/a", access: "write" }] }, covered: false },
  { pattern: PUSH, given: { ...bash("git push"), touches: [{ real: "/work/a", access: "list" }] }, covered: false },
  { pattern: PUSH, given: { ...bash("git push"), url: "https://example.com/" }, covered: false },
  { pattern: PUSH, given: { tool: "bash" },                                   covered: false },

  { pattern: SRC,  given: file("write", "/work/src/a"),                       covered: true },
  { pattern: SRC,  given: file("write", "/work/src/a", "/work/src/b/c"),      covered: true },
  { pattern: SRC,  given: file("write", "/work/src/a", "/work/b"),            covered: false },
  { pattern: SRC,  given: file("write", "/work/SRC/a"),                       covered: false },
  { pattern: SRC,  given: file("write", "/work/src/.vscode/tasks.json"),      covered: false },
  { pattern: SRC,  given: { tool: "write", touches: [{ real: "/work/src/a", access: "delete" }] }, covered: false },
  { pattern: { ...SRC, deletes: true }, given: { tool: "write", touches: [{ real: "/work/src/a", access: "delete" }] }, covered: true },
  { pattern: { ...SRC, tool: "ls" }, given: { tool: "ls", touches: [{ real: "/work/src", access: "list", show_sensitive: true }] }, covered: false },
  { pattern: SRC,  given: { ...file("write", "/work/src/a"), risk: "high" },  covered: false },
  { pattern: SRC,  given: { ...file("write", "/work/src/a"), command: "ls" }, covered: false },
  { pattern: SRC,  given: { tool: "write" },                                  covered: false },
  { pattern: { ...SRC, tool: "bash" }, given: { tool: "bash", touches: [{ real: "/work/src", access: "list" }] }, covered: false },

  { pattern: SITE, given: { tool: "webfetch", url: "https://example.com/b" }, covered: true },
  { pattern: SITE, given: { tool: "webfetch", url: "https://a.example.com/", allow: ["*"] }, covered: false },
  { pattern: SITE, given: { tool: "webfetch", url: "https://example.com/", touches: [{}] }, covered: false },
  { pattern: SITE, given: { tool: "upload", url: "https://example.com/" },    covered: false },
  { pattern: SITE, given: { tool: "webfetch" },                               covered: false },

  { pattern: PLUGIN, given: { tool: "plugin" },                               covered: true },
  { pattern: PLUGIN, given: { tool: "note" },                                 covered: false },
  { pattern: PLUGIN, given: { tool: "plugin", touches: [{}] },                covered: false },
  { pattern: PLUGIN, given: { tool: "plugin", command: "ls" },                covered: false },
  { pattern: PLUGIN, given: { tool: "plugin", url: "https://example.com/" },  covered: false },
  { pattern: { kind: "exact", call_digest: "digest" }, given: bash("git push && rm -rf tmp"), covered: true },
  { pattern: { kind: "exact", call_digest: "other" },  given: bash("git push"), covered: false },
];

for (const { pattern, given, covered } of COVERED) {
  test(`a grant of ${JSON.stringify(pattern)} ${covered ? "covers" : "does not cover"} ${JSON.stringify(given)}`, () => {
    expect(covers(pattern, callOf(given), GROUND)).toBe(covered);
  });
}

test("a name with the signs of a pattern in it means only itself", () => {
  const [path, folder] = wider(file("write", "/work/[a]*/{b,c}?.ts"));
  expect(covers(path!.pattern, callOf(file("write", "/work/[a]*/{b,c}?.ts")), GROUND)).toBe(true);
  for (const other of ["/work/ax/bz.ts", "/work/[a]*/bz.ts"]) {
    expect(covers(path!.pattern, callOf(file("write", other)), GROUND)).toBe(false);
  }
  expect(covers(folder!.pattern, callOf(file("write", "/work/[a]*/z.ts")), GROUND)).toBe(true);
  expect(covers(folder!.pattern, callOf(file("write", "/work/ax/z.ts")), GROUND)).toBe(false);
  const odd = { ...TOOLS.plugin, name: "plug*" };
  const [tool] = wider({ tool: odd });
  expect(covers(tool!.pattern, callOf({ tool: odd }), GROUND)).toBe(true);
  expect(covers(tool!.pattern, callOf({ tool: { ...odd, name: "plugin" } }), GROUND)).toBe(false);
});

test("a grant can be written down as the rule that says the same", () => {
  expect(ruleFor(PUSH)).toEqual({ effect: "allow", tool: "bash", command: "git push" });
  expect(ruleFor(OLD_PUSH)).toBeUndefined();
  for (const words of [
    [{ word: "cat" }, { slot: "path" }],
    [{ word: "git" }, { word: "a b" }],
    [{ word: "a*" }],
  ] as const) {
    expect(ruleFor({ ...PUSH, bounds: { folder: "/work", words: [...words] } })).toBeUndefined();
  }
  expect(ruleFor(SRC)).toEqual({ effect: "allow", tool: "write", path: "/work/src/**" });
  expect(ruleFor(SITE)).toEqual({ effect: "allow", tool: "webfetch", domain: "example.com" });
  expect(ruleFor(PLUGIN)).toEqual({ effect: "allow", tool: "plugin" });
  expect(ruleFor({ kind: "exact", call_digest: "digest" })).toBeUndefined();
});

const WORDS = [
  "git",
  "push",
  "rm",
  "-rf",
  "bash",
  "-c",
  "sudo",
  "env",
  "npm",
  "run",
  "make",
  "x",
  "$X",
  "&&",
  "|",
  ">",
  "'a b'",
];
const anyText = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 6 }).map((words) => words.join(" "));

function named(text: string): CallFacts {
  return callOf({ tool: "bash", touches: [FOLDER], command: text });
}

test("every offer covers the call that it was made for, and none stands for every command", () => {
  fc.assert(
    fc.property(fc.oneof(any.call, anyText.map(named)), (call) => {
      for (const { pattern } of offersFor(call, GROUND)) {
        expect(covers(pattern, call, GROUND)).toBe(true);
        if (pattern.kind === "command") expect(isCarrierPattern(pattern.command)).toBe(false);
      }
    }),
    { numRuns: 2000 },
  );
});

test("what a grant of one command covers runs that command and no other", () => {
  fc.assert(
    fc.property(anyText, anyText, (one, other) => {
      for (const { pattern } of offersFor(named(one), GROUND)) {
        if (pattern.kind !== "command" || !covers(pattern, named(other), GROUND)) continue;
        const program = pattern.bounds?.words[0]?.word;
        for (const { words } of parseCommands(other).commands) expect(words[0]?.value).toBe(program);
      }
    }),
    { numRuns: 2000 },
  );
});
