import { expect, test } from "vitest";
import { cutAfter, shareOut } from "./share-out.ts";

// oxfmt-ignore
const CASES = [
  { title: "nothing",                            sizes: [],              total: 10, shares: [] },
  { title: "what fits, completely",              sizes: [3, 7],          total: 10, shares: [3, 7] },
  { title: "long ones equally",                  sizes: [100, 100],      total: 10, shares: [5, 5] },
  { title: "what short ones leave, to long ones", sizes: [100, 1, 50, 2], total: 43, shares: [20, 1, 20, 2] },
  { title: "more of them than there is room",    sizes: [1, 1, 1],       total: 2,  shares: [0, 1, 1] },
  { title: "no room",                            sizes: [1, 5],          total: 0,  shares: [0, 0] },
] as const;

for (const { title, sizes, total, shares } of CASES) {
  test(`room is given to ${title}`, () => {
    expect(shareOut(sizes, total)).toEqual(shares);
  });
}

// oxfmt-ignore
const CUT = [
  { title: "what fits stays as it is",           text: "one two",             bytes: 7,  marks: [" "],       cut: "one two" },
  { title: "after the last line",                text: "one\ntwo\nthree",     bytes: 9,  marks: ["\n"],      cut: "one\ntwo\n" },
  { title: "a sentence before a word",           text: "One two. Three four", bytes: 15, marks: [". ", " "], cut: "One two. " },
  { title: "a word where a sentence loses much", text: "O. Two three four",   bytes: 13, marks: [". ", " "], cut: "O. Two three " },
  { title: "between characters",                 text: "ééé",                 bytes: 3,  marks: [" "],       cut: "é" },
  { title: "nothing fits",                       text: "é",                   bytes: 0,  marks: [" "],       cut: "" },
] as const;

for (const { title, text, bytes, marks, cut } of CUT) {
  test(`a text is cut: ${title}`, () => {
    expect(cutAfter(text, bytes, marks)).toBe(cut);
  });
}
