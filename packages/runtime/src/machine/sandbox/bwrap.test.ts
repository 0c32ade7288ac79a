import { expect, test } from "vitest";
import { bwrapArguments, sandboxHome } from "./bwrap.ts";
import type { SandboxFacts } from "./bwrap.ts";

const FACTS: SandboxFacts = {
  roots: ["/home/me/work"],
  cwd: "/home/me/work/sub",
  writes: true,
  view: [
    { kind: "bind", path: "/usr", source: "/usr" },
    { kind: "link", path: "/bin", target: "usr/bin" },
  ],
  old_mounts: ["/", "/home"],
  hidden: [],
  read_only: [],
  opened: [],
  pinned: [],
  writable: [],
  files: [],
  has_sizes: true,
  memory_bytes: 8_589_934_592,
  closed: { file: "/state/closed", folder: "/state/closed-folder" },
  variables: {},
  seccomp_fd: 3,
  status_fd: 4,
};

/** Arguments as lines, each with the option that begins it. */
function lines(facts: Partial<SandboxFacts>): string[] {
  const text = bwrapArguments({ ...FACTS, ...facts }).join(" ");
  return text.split(/ (?=--)/);
}

test("only listed parts of the system are visible, read-only, and the roots are mounted after the private folders", () => {
  const found = lines({});
  const at = (line: string): number => found.indexOf(line);

  expect(at("--ro-bind-try /usr /usr")).toBeGreaterThan(0);
  expect(found).toContain("--symlink usr/bin /bin");
  expect(found).toContain("--remount-ro /");
  expect(at("--tmpfs /tmp")).toBeGreaterThan(at("--ro-bind-try /usr /usr"));
  expect(at("--bind /home/me/work /home/me/work")).toBeGreaterThan(at("--tmpfs /run"));
  for (const option of ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"])
    expect(found).toContain(option);
  for (const option of ["--die-with-parent", "--new-session", "--cap-drop ALL", "--remount-ro /proc"])
    expect(found).toContain(option);
  expect(found).toContain("--chdir /home/me/work/sub");
});

test("the proxy relay is mounted before /dev is closed, and its program even where it is hidden", () => {
  const found = lines({
    way_out: { socket: "/state/1.sock", program: "/home/me/.node/bin/node" },
    hidden: [{ path: "/home/me/.node", kind: "folder" }],
  });
  const at = (line: string): number => found.indexOf(line);

  expect(at("--ro-bind /state/1.sock /dev/network.sock")).toBeGreaterThan(at("--dev /dev"));
  expect(at("--ro-bind /state/1.sock /dev/network.sock")).toBeLessThan(at("--remount-ro /dev"));
  expect(at("--ro-bind /home/me/.node/bin/node /home/me/.node/bin/node")).toBeGreaterThan(
    at("--ro-bind /state/closed-folder /home/me/.node"),
  );
  expect(lines({}).join(" ")).not.toContain("network.sock");
});

test("a program in a root, where a command could put a link in its place, is not bound by its name", () => {
  const program = "/home/me/work/bin/node";

  expect(lines({ way_out: { socket: "/state/1.sock", program } }).join(" ")).not.toContain(program);
});

test("no name below a root is resolved before the machine is read-only for the sandbox program", () => {
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
    "--ro-bind /state/closed-folder /home/me/.ssh",
    "--bind /home/me/work /home/me/work",
    "--remount-ro /../oldroot",
    "--remount-ro /../oldroot/home",
    "--bind-try /../newroot/home/me/work/.git /home/me/work/.git",
    "--ro-bind-try /home/me/work/.git/hooks /home/me/work/.git/hooks",
    "--ro-bind /state/closed-folder /home/me/work/.ssh",
    "--ro-bind /state/closed /home/me/work/a.pem",
  ];

  expect(found.filter((line) => order.includes(line))).toEqual(order);
});

test("a root inside a hidden folder stays visible, and a folder inside hidden state can be opened again", () => {
  const found = lines({
    roots: ["/state/work"],
    hidden: [{ path: "/state", kind: "folder" }],
    writable: ["/state/runs/1"],
  });
  const order = [
    "--tmpfs /state",
    "--bind /state/work /state/work",
    "--bind /state/runs/1 /run/writable/0",
    "--bind-try /../newroot/run/writable/0 /state/runs/1",
  ];

  expect(found.filter((line) => order.includes(line))).toEqual(order);
});

test("paths in private folders need no hiding, unless a root is there", () => {
  const hidden = [{ path: "/tmp/x/.ssh", kind: "folder" }] as const;

  const line = "--ro-bind /state/closed-folder /tmp/x/.ssh";

  expect(lines({ hidden })).not.toContain(line);
  expect(lines({ hidden, roots: ["/"] })).not.toContain(line);
  expect(lines({ hidden, roots: ["/tmp/x"] })).toContain(line);
});

test("the whole machine as a root does not reveal private folders", () => {
  const found = lines({ roots: ["/"] });

  expect(found.indexOf("--bind / /")).toBeLessThan(found.indexOf("--proc /proc"));
  expect(found).not.toContain("--ro-bind / /");
  expect(found).not.toContain("--remount-ro /");
});

test("a root inside another one is mounted with it, not by its name", () => {
  const found = lines({ roots: ["/home/me/work", "/home/me/work/sub"] });

  expect(found).toContain("--bind /home/me/work /home/me/work");
  expect(found.join(" ")).not.toContain("--bind /home/me/work/sub");
  expect(lines({ roots: ["/", "/tmp/x"] })).toContain("--bind /tmp/x /tmp/x");
});

test("a read-only command gets the roots read-only, with hidden paths in them", () => {
  const found = lines({
    writes: false,
    hidden: [{ path: "/home/me/work/a.pem", kind: "file" }],
    read_only: ["/home/me/work/.git/hooks"],
    pinned: ["/home/me/work/.git"],
  });

  expect(found).toContain("--ro-bind /home/me/work /home/me/work");
  expect(found).toContain("--ro-bind /state/closed /home/me/work/a.pem");
  expect(found.join(" ")).not.toContain(".git");
});

test("an older sandbox program is not passed sizes of in-memory folders", () => {
  expect(lines({})).toContain("--size 1073741824");
  expect(lines({ has_sizes: false }).join(" ")).not.toContain("--size");
});

test("variables for the command only are arguments, and the home is outside the machine's folders", () => {
  expect(lines({ variables: { LD_PRELOAD: "x.so" } })).toContain("--setenv LD_PRELOAD x.so");
  expect(sandboxHome(["/tmp/work"])).toBe("/tmp/home");
  expect(sandboxHome(["/tmp"])).toBe("/run/home");
});
