import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { judgeCommands } from "./check-command.ts";
import type { CommandLevel } from "./check-command.ts";

const PROJECT = { roots: ["/home/dev/project"], home: "/home/dev" };
/** Here the folder that contains the workspace is not a home folder. */
const SERVED = { roots: ["/srv/work/project"], home: "/home/dev" };

function levelOf(command: string, ground: typeof PROJECT = PROJECT): CommandLevel {
  return judgeCommands(parseCommands(command), ground).level;
}

// oxfmt-ignore
const DELETIONS: readonly (readonly [command: string, level: CommandLevel])[] = [
  ["rm a.txt",                        "everyday"],
  ["rm /dev/null",                    "everyday"],
  ["rm .envrc",                       "risky"],
  ["rm .git/hooks/pre-commit",        "risky"],
  ["unlink a.txt",                    "everyday"],
  ["unlink /srv/other/a",             "risky"],
  ["rmdir old",                       "everyday"],
  ["rmdir /srv/other",                "risky"],
  ["rimraf dist",                     "everyday"],
  ["rimraf src",                      "undoable"],
  ["rimraf /",                        "destructive"],
  ["trash notes",                     "everyday"],
  ["rm -rf /tmp/build-1",             "everyday"],
  ["rm -rf /dev/shm/work",            "everyday"],
  ["rm -rf /dev/shm/work/*",          "risky"],
  ["cd /tmp/work; rm -rf *",          "risky"],
  ["cd /tmp/work && rm -rf *",        "everyday"],
  ["rm -rf node_modules/$name",       "everyday"],
  ["rm -rf src/$name",                "risky"],
  ["rm src/$name",                    "risky"],
  ['rm "src/$name"',                  "everyday"],
  ["rm /srv/$name",                   "risky"],
  ["cd $there && rm a.txt",           "everyday"],
  ["cd $there && rm -rf src",         "risky"],
  ["shred --help",                    "everyday"],
  ["shred --version",                 "everyday"],
  ["shred notes.txt",                 "risky"],
  ["shred /tmp/notes.txt",            "risky"],
  ["shred $file",                     "destructive"],
  ["shred /srv/other/a",              "destructive"],
  ["cd $there && shred a",            "destructive"],
];

test.each(DELETIONS)("what a command deletes counts: %s is %s", (command, level) => {
  expect(levelOf(command)).toBe(level);
});

// oxfmt-ignore
const MOVES: readonly (readonly [command: string, level: CommandLevel])[] = [
  ["mv",                              "everyday"],
  ["mv a b",                          "everyday"],
  ["mv -t sub a b",                   "everyday"],
  ["mv -t /srv/other a b",            "risky"],
  ["mv --target-directory=/etc a",    "destructive"],
  ["mv . ../elsewhere",               "destructive"],
  ["mv .git old",                     "destructive"],
  ["mv /usr /old",                    "destructive"],
  ["mv ~ /tmp/home",                  "destructive"],
  ["mv /dev/sda x",                   "destructive"],
  ["mv $what sub",                    "everyday"],
  ["cp a",                            "everyday"],
  ["cp a b",                          "everyday"],
  ["cp -t /etc a",                    "destructive"],
  ["install -m 755 a /usr/bin/a",     "destructive"],
  ["rsync a",                         "everyday"],
  ["rsync -a src/ copy/",             "everyday"],
  ["rsync -a src/ host:copy/",        "risky"],
  ["rsync -a --delete src/ copy/",    "undoable"],
  ["rsync -a --delete src/ /",        "destructive"],
  ["ln a",                            "everyday"],
  ["ln -s a b",                       "everyday"],
  ["ln -s a /etc/b",                  "destructive"],
];

test.each(MOVES)("what a command moves and copies, and to where, counts: %s is %s", (command, level) => {
  expect(levelOf(command)).toBe(level);
});

// oxfmt-ignore
const OTHERS: readonly (readonly [command: string, level: CommandLevel])[] = [
  ["chmod -R",                        "everyday"],
  ["chmod -R 000 .",                  "risky"],
  ["chmod -R a-rwx src",              "undoable"],
  ["chmod -x run.sh",                 "everyday"],
  ["chmod 600 $file",                 "everyday"],
  ["chmod 777 /srv/other",            "risky"],
  ["chmod 777 ~",                     "risky"],
  ["chmod -R 777 ~",                  "destructive"],
  ["kill -l",                         "everyday"],
  ["kill -L",                         "everyday"],
  ["kill -0 42",                      "everyday"],
  ["kill %1",                         "everyday"],
  ["kill 42",                         "risky"],
  ["kill -9 -- -42",                  "risky"],
  ["kill 1",                          "destructive"],
  ["kill -1",                         "destructive"],
  ["kill -9 -1",                      "destructive"],
  ["curl -X GET https://example.com", "everyday"],
  ["curl -X DELETE https://example.com", "risky"],
  ["curl https://example.com",        "everyday"],
  ["PYTHONPATH=$PWD/src python3 -m unittest", "everyday"],
  ["PYTHONPATH=$LIB python3 -m unittest", "everyday"],
  ["PYTHONPATH=/tmp/x python3 -m unittest", "opaque"],
  ['export "PATH=$other"',            "opaque"],
  ['export "PYTHONPATH=$PWD/src"',    "everyday"],
  ["export PATH=$PATH:/usr/local/bin", "everyday"],
  ["export LD_PRELOAD=$what",         "opaque"],
  ["declare -x",                      "everyday"],
];

test.each(OTHERS)("what else a command is given counts: %s is %s", (command, level) => {
  expect(levelOf(command)).toBe(level);
});

test("a folder that holds the workspace is as much as the workspace", () => {
  expect(levelOf("rm -rf /srv/work", SERVED)).toBe("destructive");
  expect(levelOf("mv /srv/work /srv/old", SERVED)).toBe("destructive");
  expect(levelOf("chmod -R 777 /srv/work", SERVED)).toBe("destructive");
  expect(levelOf("chmod 777 /srv/work", SERVED)).toBe("risky");
  expect(levelOf("echo x > /srv/work/a", SERVED)).toBe("risky");
});
