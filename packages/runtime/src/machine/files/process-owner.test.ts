import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lifeOf, ownProcess } from "./process-owner.ts";

const [pid = "", start = "", boot = "", namespace = ""] = ownProcess().split(".");

// oxfmt-ignore
const CASES = [
  { title: "this process",                                   owner: ownProcess(),                            life: "alive" },
  { title: "one that had this process's number before",      owner: `${pid}.1.${boot}.${namespace}`,         life: "gone" },
  { title: "a number that no process has",                   owner: `4194305.${start}.${boot}.${namespace}`, life: "gone" },
  { title: "one from before the last start of the machine",  owner: `${pid}.${start}.other-boot.${namespace}`, life: "gone" },
  { title: "one in another pid namespace",                   owner: `${pid}.${start}.${boot}.1`,             life: "unseen" },
  { title: "what names no process",                          owner: "",                                      life: "unseen" },
] as const;

for (const { title, owner, life } of CASES) {
  test(`${title} is ${life}`, () => {
    expect(lifeOf(owner)).toBe(life);
  });
}

test("a process that is over but not waited for is gone", async () => {
  // The shell becomes a program that never asks for its child: killed, the child stays in the table of processes.
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
