import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { canMove, isTaskState, TASK_STATE_NAMES } from "../packages/autonous/src/store/queue/task-states.ts";
import type { TaskState } from "../packages/autonous/src/store/queue/task-states.ts";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
const pictures = Array.from(page.matchAll(/^```mermaid\n([\s\S]*?)^```$/gm), ([, text = ""]) => text);

function pictureOf(beginning: string): string {
  const found = pictures.filter((text) => text.includes(beginning));
  expect(found, `pictures with "${beginning}"`).toHaveLength(1);
  return found[0] ?? "";
}

/** The states inside the box of the picture: a worker holds the task. */
function heldStates(picture: string): readonly TaskState[] {
  const [, box = ""] = /as held \{([\s\S]*?)\}/.exec(picture) ?? [];
  return TASK_STATE_NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(box));
}

test("the picture of a task's states has every state, and only transitions of the table", () => {
  const picture = pictureOf("stateDiagram");
  const drawn = Array.from(picture.matchAll(/^\s*(\S+) --> (\w+|\[\*\])/gm), ([, from = "", to = ""]) => ({
    from,
    to,
  }));
  const held = heldStates(picture);
  expect(held).toContain("model_round");

  const moves = drawn.flatMap(({ from, to }) => {
    if (from === "[*]" || to === "[*]" || !isTaskState(to)) return [];
    const origins = from === "held" ? held.filter((state) => state !== "reply_sent" || to !== "queued") : [from];
    return origins.map((origin) => ({ from: origin, to }));
  });
  expect(moves.filter(({ from, to }) => !isTaskState(from) || !canMove(from, to))).toEqual([]);
  const named = new Set(drawn.flatMap(({ from, to }) => [from, to]));
  expect(TASK_STATE_NAMES.filter((name) => !named.has(name))).toEqual([]);
});

test("the picture and the table of a call name the steps of the gate, in their order", () => {
  const lines = ["evaluate.ts", "gate.ts"]
    .flatMap((file) => readFileSync(join(root, "packages/runtime/src/gate", file), "utf8").split("\n"))
    .filter((line) => /^\s+\w.*\/\/ +\d+\b/.test(line));
  const isListed = (step: string): boolean => {
    const [number = "", name = ""] = step.split(" ");
    return lines.some((line) => line.includes(name) && new RegExp(`// +${number}\\b`).test(line));
  };

  const drawn = Array.from(pictureOf("findTool").matchAll(/"(\d+ \w+)"/g), ([, step = ""]) => step);
  expect(drawn).toHaveLength(11);
  expect(drawn.filter((step) => !isListed(step))).toEqual([]);
  expect(Array.from(page.matchAll(/^\| (\d+ \w+) +\|/gm), ([, step = ""]) => step)).toEqual(drawn);
});
