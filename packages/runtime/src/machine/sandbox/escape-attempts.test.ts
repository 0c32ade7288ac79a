import { expect, test } from "vitest";
import { ATTEMPTS } from "./escape-attempts.ts";

const planted = {
  state_file: "/var/it's/state",
  secret: "secret-words",
  key_file: "/root/key.pem",
  home_file: "/home/file",
  new_files: ["/home/new"],
  pid: 4711,
  process_word: "process-word",
  port: 4712,
  abstract_socket: "abstract-name",
  named_socket: "/tmp/named",
  renamed_socket: "/root/renamed",
  left_word: "left-word",
} as const;

test("every attempt has a unique name, and a script for each architecture", () => {
  const names = ATTEMPTS.map(({ attempt }) => attempt);

  expect(new Set(names).size).toBe(names.length);
  for (const { attempt, script } of ATTEMPTS) {
    for (const architecture of ["x64", "arm64"] as const) {
      const text = script({ ...planted, architecture });
      expect({ attempt, text }).not.toMatchObject({ text: expect.stringMatching(/undefined|call -1/) as string });
    }
  }
});

/** What the list of threats names, and so has to be tried. */
// oxfmt-ignore
const NAMED = [
  "outside the roots", "runtime's state", "/proc", "process outside", "port of the machine", "abstract socket", "socket of the machine by its name",
  "crashes", "kernel's settings", "privileges", "device", "memory of the sandbox's first process", "terminal", "trace another", "io_uring", "keyctl", "unshare",
  "setns", "mount", "closed file", "behind",
];

test.each(NAMED)("there is an attempt for %s", (name) => {
  expect(ATTEMPTS.some(({ attempt }) => attempt.includes(name))).toBe(true);
});

test("no attempt contains the words that report an escape", () => {
  for (const { script } of ATTEMPTS) {
    const text = script({ ...planted, architecture: "x64" });
    for (const word of [planted.secret, planted.process_word, planted.left_word]) expect(text).not.toContain(word);
  }
});
