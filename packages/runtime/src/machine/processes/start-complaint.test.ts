import { expect, test } from "vitest";
import { StartComplaint } from "./start-complaint.ts";

function complaint() {
  const passed: string[] = [];
  return { passed, held: new StartComplaint((piece) => passed.push(piece.toString())) };
}

// oxfmt-ignore
const CASES = [
  { what: "ordinary output immediately",                  pieces: ["oh no"],                     passed: ["oh no"] },
  { what: "nothing of a sandbox error",                      pieces: ["bwrap: Can't bind"],         passed: [] },
  { what: "nothing of a sandbox error in many chunks",       pieces: ["b", "wrap", ": Can't", "\n"], passed: [] },
  { what: "output that only begins like one, in one piece",     pieces: ["bw", "ait"],                 passed: ["bwait"] },
  { what: "everything after that",                       pieces: ["bw", "ait", "bwrap: x"],     passed: ["bwait", "bwrap: x"] },
];

for (const { what, pieces, passed } of CASES) {
  test(`passes ${what}`, () => {
    const { held, passed: got } = complaint();
    for (const piece of pieces) held.push(Buffer.from(piece));
    expect(got).toEqual(passed);
  });
}

test("output that turns out to be the command's own is passed on once, and so is the rest", () => {
  const { held, passed } = complaint();
  held.push(Buffer.from("bwrap: of a nested one\n"));
  held.release();
  held.release();
  held.push(Buffer.from("bwrap: more"));
  expect(passed).toEqual(["bwrap: of a nested one\n", "bwrap: more"]);
});

test("long output is never held back as an error", () => {
  const { held, passed } = complaint();
  held.push(Buffer.from(`bwrap: ${"x".repeat(10_000)}`));
  expect(passed.join("").length).toBe(10_007);
});
