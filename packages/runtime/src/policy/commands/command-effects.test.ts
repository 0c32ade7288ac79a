import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { judgeCommands } from "./check-command.ts";
import type { CommandLevel } from "./check-command.ts";

const GROUND = { roots: ["/home/dev/project"], home: "/home/dev" };

function levelOf(command: string, ground: Parameters<typeof judgeCommands>[1] = GROUND): CommandLevel {
  return judgeCommands(parseCommands(command), ground).level;
}

/** Programs that write where they are told. */
// oxfmt-ignore
const WRITERS = [
  "tee X", "sponge X", "touch X", "mkdir X", "mkfifo X", "sed -i s/a/b/ X", "gsed -i s/a/b/ X", "perl -pi -e 1 X", "ruby -pi -e 1 X",
  "curl -o X https://example.com", "wget -O X https://example.com", "tar -xf a.tar -C X", "unzip a.zip -d X", "sort -o X a",
  "openssl rand -out X 16", "ed X", "ex X", "mv a X", "cp a X", "dd if=a of=X", "git diff --output=X",
] as const;

for (const writer of WRITERS) {
  test(`"${writer}" is judged by where it writes`, () => {
    expect(levelOf(writer.replace("X", "notes"))).toBe("everyday");
    expect(levelOf(writer.replace("X", "/etc/passwd"))).not.toBe("everyday");
    expect(levelOf(writer.replace("X", "/srv/other/file"))).not.toBe("everyday");
    expect(levelOf(writer.replace("X", ".git/hooks/pre-commit"))).not.toBe("everyday");
  });
}

// oxfmt-ignore
const SINGLE: readonly (readonly [string, CommandLevel])[] = [
  ["rm -rf src",                            "undoable"],
  ["rm -rf src/build",                      "everyday"],
  ["mknod x b 8 0",                         "risky"],
  ["tune2fs -c 0 /dev/sda1",                "risky"],
  ["chgrp -R staff /etc",                   "destructive"],
  ["chattr +i /etc/passwd",                 "destructive"],
  ["setfacl -m u:a:rw /etc",                "destructive"],
  ["mv .git/hooks/pre-push a",              "risky"],
  ["mv /srv/other/a .",                     "risky"],
  ["mv $X .",                               "everyday"],
  ["mv a",                                  "everyday"],
  ["sed -i s/a/b/ '.git/hooks/pre commit'", "risky"],
  ["sed -i s/a/b/ '.github/workflows/\u00e4.yml'", "risky"],
  ["sed -i s/a/b/ .git/hooks/*",            "risky"],
  ["perl -pi -e 1 '.git/hooks/a@b'",        "risky"],
  ["sed -i '' 's/a b/../' notes",           "everyday"],
  ["sed -i '' '/a b/d' notes",              "everyday"],
  ["sed -i '' '$d' notes",                  "everyday"],
  ["HOME=/tmp",                             "opaque"],
  ["HOME=/tmp make",                        "everyday"],
  ["export PATH=$PATH:/opt/bin",            "everyday"],
  ["export PATH=evil",                      "opaque"],
  ["declare -x LD_PRELOAD=./a.so",          "opaque"],
  ["export A",                              "everyday"],
  ["npm_config_loglevel=silent npm test",   "everyday"],
  ["npm_config_registry=http://x npm test", "opaque"],
  ["rm -rf /*",                             "destructive"],
  ["touch /usr/local/x",                    "risky"],
  ["cd $X && touch a",                      "everyday"],
];

for (const [command, level] of SINGLE) {
  test(`"${command}" is ${level}`, () => {
    expect(levelOf(command)).toBe(level);
  });
}

test("a command is judged from the folder that it starts in, and from the root of the machine", () => {
  expect(levelOf("rm -rf ..", { ...GROUND, folder: "/home/dev/project/a/b" })).not.toBe("destructive");
  expect(levelOf("rm -rf ../..", { ...GROUND, folder: "/home/dev/project/a" })).toBe("destructive");
  expect(levelOf("touch a", { roots: ["/"], home: "/root" })).toBe("everyday");
  expect(levelOf("rm -rf .git", { roots: ["/"], home: "/root" })).not.toBe("everyday");
  expect(levelOf("rm -rf a", { roots: [], home: "/root" })).not.toBe("everyday");
});

test.each([
  ["/home/dev/build", "/home/dev/build/tmp/project"].toReversed(),
  ["/home/dev/build", "/home/dev/build/tmp/project"],
])("a workspace below a build folder is protected like any other (%s, %s)", (...roots) => {
  const ground = { roots, home: "/home/dev", folder: "/home/dev/build/tmp/project" };
  expect(levelOf("rm -rf src", ground)).toBe("undoable");
  expect(levelOf("rm -rf dist", ground)).toBe("everyday");
});
