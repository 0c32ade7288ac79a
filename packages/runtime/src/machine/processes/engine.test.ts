import { expect, test } from "vitest";
import { startEngine } from "./engine.ts";
import type { Engine } from "./engine.ts";

function start(program: string, args: readonly string[], signal = new AbortController().signal): Engine {
  return startEngine({ program, args, cwd: "/", signal });
}

async function textOf({ output }: Engine): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of output) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("an engine gets an empty environment and no input, and reports how it ended", async () => {
  const engine = start("/bin/sh", ["-c", "/usr/bin/env; cat; echo trouble >&2; exit 3"]);
  const lines = (await textOf(engine)).trimEnd().split("\n");
  expect(lines).toContain("LC_ALL=C.UTF-8");
  expect(lines.some((line) => /^(?:USER|HOME=\/(?!nonexistent)|NODE_|npm_)/.test(line))).toBe(false);
  expect(await engine.ended).toMatchObject({ code: 3, signal: null });
  expect((await engine.ended).stderr).toContain("trouble");
});

test("an engine with endless output waits while its output is not read, and is gone when it is stopped", async () => {
  const engine = start("/usr/bin/yes", []);
  for await (const piece of engine.output) {
    expect(piece.length).toBeGreaterThan(0);
    break;
  }
  await engine.stop();
  expect((await engine.ended).code).not.toBe(0); // killed, or ended because its output was closed
});

test("an engine ends when its signal is aborted, and none starts after that", async () => {
  const stop = new AbortController();
  const engine = start("/bin/sleep", ["1000"], stop.signal);
  stop.abort(new Error("enough"));
  expect(await textOf(engine)).toBe("");
  expect(await engine.ended).toMatchObject({ signal: "SIGKILL" });
  expect(() => start("/bin/sleep", ["1000"], stop.signal)).toThrow("enough");
});

test("endless error output is truncated", async () => {
  const engine = start("/bin/sh", ["-c", "head -c 1000000 /dev/zero >&2"]);
  expect(await textOf(engine)).toBe("");
  expect((await engine.ended).stderr).toHaveLength(65_536);
});

test("a program that cannot be started is reported as IOError", async () => {
  const engine = start("/nowhere/rg", []);
  expect(await textOf(engine)).toBe("");
  await expect(engine.ended).rejects.toMatchObject({ code: "IOError" });
  await engine.stop();
  expect(() => start("/bin/echo", ["x".repeat(10_000_000)])).toThrow("Cannot start");
});
