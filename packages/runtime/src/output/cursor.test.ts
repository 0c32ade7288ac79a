import fc from "fast-check";
import { expect, test } from "vitest";
import { createCursors } from "./cursor.ts";

const cursors = createCursors(() => Buffer.alloc(32, 7));

test("a cursor returns the position that it was made for", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (position, boundTo) => {
      expect(cursors.open(cursors.seal(position, boundTo), boundTo)).toEqual(JSON.parse(JSON.stringify(position)));
    }),
  );
});

test("a cursor that was altered anywhere is refused", () => {
  const cursor = cursors.seal({ keys: ["a", "b"] }, ["ls", "."]);
  for (let i = 0; i < cursor.length; i++) {
    const altered = `${cursor.slice(0, i)}${cursor[i] === "A" ? "B" : "A"}${cursor.slice(i + 1)}`;
    expect(() => cursors.open(altered, ["ls", "."]), altered).toThrow(/altered/);
  }
});

// oxfmt-ignore
const REFUSED = [
  { title: "made for another call",     cursor: cursors.seal(1, ["ls", "a"]) },
  { title: "made with another key",     cursor: createCursors(() => Buffer.alloc(32, 8)).seal(1, ["ls", "."]) },
  { title: "with something added",      cursor: `${cursors.seal(1, ["ls", "."])}=` },
  { title: "with a part too many",      cursor: `${cursors.seal(1, ["ls", "."])}.x` },
  { title: "that is empty",             cursor: "" },
  { title: "that never was one",        cursor: "../../etc/passwd" },
] as const;

for (const { title, cursor } of REFUSED) {
  test(`a cursor ${title} is refused`, () => {
    expect(() => cursors.open(cursor, ["ls", "."])).toThrow(expect.objectContaining({ code: "InvalidCursor" }));
  });
}
