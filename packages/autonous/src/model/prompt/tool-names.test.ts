import fc from "fast-check";
import { expect, test } from "vitest";
import { mapToolNames } from "./tool-names.ts";

test("names that every provider takes stay as they are, and others become such names and come back", () => {
  const names = mapToolNames(["files.read", "files_read", "read", "x".repeat(70), "x".repeat(71), "ü"]);
  expect(names.toWire("read")).toBe("read");
  expect(names.toWire("files_read")).toBe("files_read");
  expect(names.toWire("files.read")).toBe("files_read_2");
  expect(names.toWire("not offered!")).toBe("not_offered_");
  expect(names.fromWire("files_read_2")).toBe("files.read");
  expect(names.fromWire("made_up")).toBe("made_up");
});

test("the names of every list stay distinct on the wire", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1, maxLength: 80, unit: "binary" }), { maxLength: 20 }),
      (all) => {
        const names = mapToolNames(all);
        const wires = all.map((name) => names.toWire(name));
        for (const wire of wires) expect(wire).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(wires.map((wire) => names.fromWire(wire))).toEqual(all);
      },
    ),
  );
});
