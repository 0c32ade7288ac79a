import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lifeOf, ownProcess } from "./process-owner.ts";

const [pid = "", start = "", boot = "", namespace = ""] = ownProcess().split(".");

// oxfmt-ignore
const CASES = [
  { title: "this process",                                   owner: ownProcess(),                            life: "alive" },
  { title: "an earlier process with this pid",      owner: `${pid}.1.${boot}.${namespace}`,         life: "gone" },
  { title: "a pid that no process has",                   owner: `4194305.${start}.${boot}.${namespace}`, life: "gone" },
  { title: "a process from before the last boot",  owner: `${pid}.${start}.other-boot.${namespace}`, life: "gone" },
  { title: "a process in another pid namespace",                   owner: `${pid}.${start}.${boot}.1`,             life: "unseen" },
  { title: "an empty owner",                          owner: "",                                      life: "unseen" },
] as const;

for (const { title, owner, life } of CASES) {
  test(`${title} is ${life}`, () => {
    expect(lifeOf(owner)).toBe(life);
  });
}

test("a zombie process is gone", async () => {
  // The shell becomes a program that never waits for its child: the killed child stays in the process table.
  const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec sleep 1000"]);
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const child = Number(line.toString());
  await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
  const fields = (): string[] => readFileSync(`/proc/${child}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  const owner = `${child}.${fields()[19]}.${boot}.${namespace}`;
  expect(lifeOf(owner)).toBe("alive");
  process.kill(child, "SIGKILL");
  await expect.poll(() => fields()[0]).toBe("Z");
  expect(lifeOf(owner)).toBe("gone");
  parent.kill("SIGKILL");
  await once(parent, "close");
});
