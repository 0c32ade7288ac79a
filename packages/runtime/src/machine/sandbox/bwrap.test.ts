import { expect, test } from "vitest";
import { bwrapArguments, sandboxHome } from "./bwrap.ts";
import type { SandboxFacts } from "./bwrap.ts";

const FACTS: SandboxFacts = {
  roots: ["/home/me/work"],
  cwd: "/home/me/work/sub",
  hidden: [],
  read_only: [],
  pinned: [],
  writable: [],
  has_sizes: true,
  memory_bytes: 8_589_934_592,
  closed_file: "/state/closed",
  variables: {},
  seccomp_fd: 3,
  status_fd: 4,
};

/** Arguments as lines, each with the option that begins it. */
function lines(facts: Partial<SandboxFacts>): string[] {
  const text = bwrapArguments({ ...FACTS, ...facts }).join(" ");
  return text.split(/ (?=--)/);
}

test("the system is read-only, and the roots come after what is private", () => {
  const found = lines({});
  const at = (line: string): number => found.indexOf(line);

  expect(at("--ro-bind / /")).toBeGreaterThan(0);
  expect(at("--tmpfs /tmp")).toBeGreaterThan(at("--ro-bind / /"));
  expect(at("--bind /home/me/work /home/me/work")).toBeGreaterThan(at("--tmpfs /run"));
  for (const option of ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"])
    expect(found).toContain(option);
  for (const option of ["--die-with-parent", "--new-session", "--cap-drop ALL", "--remount-ro /proc"])
    expect(found).toContain(option);
  expect(found).toContain("--chdir /home/me/work/sub");
});

test("a way out is shown before /dev is closed, and its program wherever that is hidden", () => {
  const found = lines({
    way_out: { socket: "/state/1.sock", program: "/home/me/.node/bin/node" },
    hidden: [{ path: "/home/me/.node", kind: "folder" }],
  });
  const at = (line: string): number => found.indexOf(line);

  expect(at("--ro-bind /state/1.sock /dev/network.sock")).toBeGreaterThan(at("--dev /dev"));
  expect(at("--ro-bind /state/1.sock /dev/network.sock")).toBeLessThan(at("--remount-ro /dev"));
  expect(at("--ro-bind /home/me/.node/bin/node /home/me/.node/bin/node")).toBeGreaterThan(at("--tmpfs /home/me/.node"));
  expect(lines({}).join(" ")).not.toContain("network.sock");
});

test("a program in a root, where a command could put a link in its place, is not bound by its name", () => {
  const program = "/home/me/work/bin/node";

  expect(lines({ way_out: { socket: "/state/1.sock", program } }).join(" ")).not.toContain(program);
});

test("what is hidden or read-only in a root comes after the root", () => {
  const found = lines({
    hidden: [
      { path: "/home/me/work/.ssh", kind: "folder" },
      { path: "/home/me/work/a.pem", kind: "file" },
      { path: "/home/me/.ssh", kind: "folder" },
    ],
    read_only: ["/home/me/work/.git/hooks"],
    pinned: ["/home/me/work/.git"],
  });
  const order = [
    "--bind /home/me/work /home/me/work",
    "--bind /home/me/work/.git /home/me/work/.git",
    "--ro-bind /home/me/work/.git/hooks /home/me/work/.git/hooks",
    "--tmpfs /home/me/work/.ssh",
    "--ro-bind /state/closed /home/me/work/a.pem",
    "--tmpfs /home/me/.ssh",
  ];

  expect(found.filter((line) => order.includes(line))).toEqual(order);
});

test("a root inside a hidden folder is still there, and a folder inside hidden state can be opened again", () => {
  const found = lines({
    roots: ["/state/work"],
    hidden: [{ path: "/state", kind: "folder" }],
    writable: ["/state/runs/1"],
  });
  const order = ["--tmpfs /state", "--bind /state/work /state/work", "--bind /state/runs/1 /state/runs/1"];

  expect(found.filter((line) => order.includes(line))).toEqual(order);
});

test("places in private folders need no hiding, unless a root is there", () => {
  const hidden = [{ path: "/tmp/x/.ssh", kind: "folder" }] as const;

  expect(lines({ hidden })).not.toContain("--tmpfs /tmp/x/.ssh");
  expect(lines({ hidden, roots: ["/tmp/x"] })).toContain("--tmpfs /tmp/x/.ssh");
});

test("the whole machine as a root does not bring back what is private", () => {
  const found = lines({ roots: ["/"] });

  expect(found.indexOf("--bind / /")).toBeLessThan(found.indexOf("--proc /proc"));
  expect(found).not.toContain("--ro-bind / /");
});

test("an older sandbox program is not asked to bound folders in memory", () => {
  expect(lines({})).toContain("--size 1073741824");
  expect(lines({ has_sizes: false }).join(" ")).not.toContain("--size");
});

test("variables for the command alone are arguments, and the home lies where nothing of the machine is", () => {
  expect(lines({ variables: { LD_PRELOAD: "x.so" } })).toContain("--setenv LD_PRELOAD x.so");
  expect(sandboxHome(["/tmp/work"])).toBe("/tmp/home");
  expect(sandboxHome(["/tmp"])).toBe("/run/home");
});
