import { once } from "node:events";
import { expect, test } from "vitest";
import { createRedactStream } from "./redact-stream.ts";

const token = ["gh", "p_", "a1B2".repeat(9)].join("");

test("for people who watch, a word without an end comes out in a pause; the start of a secret does not", async () => {
  const stream = createRedactStream({ pause_ms: 1 });
  const pieces: string[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece.toString()));
  const first = once(stream, "data");
  stream.write("Hello");
  await first;
  expect(pieces).toEqual(["Hello"]);
  const second = once(stream, "data");
  stream.write(", world ");
  await second;
  stream.write(token.slice(0, 3));
  await new Promise((resolve) => setTimeout(resolve, 30));
  stream.end(`${token.slice(3)} end`);
  await once(stream, "end");
  expect(pieces.join("")).toBe("Hello, world ***REDACTED*** end");
});

test("without a pause to wait for, a word waits for what follows it", async () => {
  const stream = createRedactStream();
  const pieces: string[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece.toString()));
  stream.write("Hello wor");
  await new Promise((resolve) => setImmediate(resolve));
  expect(pieces.join("")).toBe("Hello ");
  stream.end();
  await once(stream, "end");
  expect(pieces.join("")).toBe("Hello wor");
});
