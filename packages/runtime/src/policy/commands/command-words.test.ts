import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { namedPlaces } from "./command-words.ts";

test("a path that a command names again and again is looked at once, for each use", () => {
  const asked: string[] = [];
  const places = namedPlaces(
    parseCommands("cat a b a ./a a > a"),
    { roots: ["/work"], home: "/home/ann" },
    (path: string) => {
      asked.push(path);
      return path;
    },
  );
  expect(places.map(({ real, uses }) => `${uses.join()} ${real}`)).toEqual([
    "write /work/a",
    "read /work/a",
    "read /work/b",
    "read /work/./a",
  ]);
  expect(asked).toEqual(["/work/a", "/work/b", "/work/./a"]);
});
