import { expect, test } from "vitest";
import { makeId } from "./ids.ts";
import { isStorageRef } from "./storage-ref.ts";

test("what results give out is a reference", () => {
  for (const end of ["txt", "data.json", "arguments.json"]) {
    expect(isStorageRef(`observations/${makeId("call", Date.now())}.${end}`), end).toBe(true);
  }
});

// oxfmt-ignore
const PATHS = [
  "observations",
  "observations/notes.txt",
  "observations/call_.txt",
  "observations/call_1.md",
  "observations/call_1",
  "observations/call_1.txt/x",
  "observations/call_1.txt\n",
  "observations/../call_1.txt",
  "observations/call_../x.txt",
  "observations//call_1.txt",
  "./observations/call_1.txt",
  "/observations/call_1.txt",
  "Observations/call_1.txt",
] as const;

for (const path of PATHS) {
  test(`${JSON.stringify(path)} is a path of the workspace`, () => {
    expect(isStorageRef(path)).toBe(false);
  });
}
