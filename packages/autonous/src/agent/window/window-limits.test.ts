import fc from "fast-check";
import { expect, test } from "vitest";
import { learnFromOverflow, learnFromReply, ratioOf, replyRoom, searchedLimit } from "./window-limits.ts";
import type { ModelLimits, OverflowNumbers } from "./window-limits.ts";

interface OverflowCase {
  readonly title: string;
  readonly known?: ModelLimits;
  readonly estimated: number;
  readonly said: OverflowNumbers;
  readonly learned: ModelLimits;
}

// oxfmt-ignore
const OVERFLOWS: readonly OverflowCase[] = [
  { title: "what fits and what was sent",           estimated: 100_000, said: { limit_tokens: 60_000, sent_tokens: 80_000 },                        learned: { context_tokens: 60_000, ratio: 0.8 } },
  { title: "what is kept for the reply too",        estimated: 100_000, said: { limit_tokens: 200_000, sent_tokens: 209_573, reply_tokens: 21_333 }, learned: { context_tokens: 200_000, reply_tokens: 21_333, ratio: 1.883 } },
  { title: "only what fits",                        estimated: 50_000,  said: { limit_tokens: 60_000 },                                             learned: { context_tokens: 60_000, ratio: 1.201 } },
  { title: "only what fits, less than was counted", estimated: 90_000,  said: { limit_tokens: 60_000 },                                             learned: { context_tokens: 60_000, ratio: 1 } },
  { title: "only what was sent",                    estimated: 50_000,  said: { sent_tokens: 40_000 },                                              learned: { refused: 40_000, ratio: 0.8 } },
  { title: "nothing",                               estimated: 50_000,  said: {},                                                                   learned: { refused: 50_000, ratio: 1 } },
  { title: "nothing, after a request that was taken", known: { ratio: 0.8, taken: 30_000 }, estimated: 50_000, said: {},                            learned: { refused: 40_000, ratio: 0.8, taken: 30_000 } },
  { title: "nothing, though as much was taken before", known: { taken: 60_000 }, estimated: 50_000, said: {},                                       learned: { refused: 50_000, ratio: 1 } },
  { title: "that less was sent than fits",          estimated: 50_000,  said: { limit_tokens: 90_000, sent_tokens: 45_000 },                        learned: { refused: 45_000, ratio: 0.9 } },
  { title: "a limit that no model has",             estimated: 50_000,  said: { limit_tokens: 5, sent_tokens: 50_000 },                             learned: { refused: 50_000, ratio: 1 } },
  { title: "numbers of something else",             estimated: 50_000,  said: { limit_tokens: 2048, sent_tokens: 2100 },                            learned: { refused: 50_000, ratio: 1 } },
  { title: "that the reply takes all of it",        estimated: 10_000,  said: { limit_tokens: 8_000, sent_tokens: 26_000, reply_tokens: 16_000 },   learned: { context_tokens: 8_000, ratio: 1 } },
  { title: "more than any text can be",             estimated: 1_000,   said: { limit_tokens: 100_000, sent_tokens: 900_000 },                      learned: { context_tokens: 100_000, ratio: 4, refused: 4_000 } },
];

for (const { title, known = {}, estimated, said, learned } of OVERFLOWS)
  test(`the limit is learned from a refusal where the server names ${title}`, () => {
    expect(learnFromOverflow(known, estimated, said)).toEqual(learned);
  });

const anyCount = fc.option(fc.integer({ min: -5, max: 2_000_000 }), { nil: undefined });

test("whatever numbers a server names, the refused request counts as too large afterwards", () => {
  const said = fc.record({ limit_tokens: anyCount, sent_tokens: anyCount, reply_tokens: anyCount });
  const any = fc.record({ estimated: fc.integer({ min: 1, max: 1_000_000 }), said, taken: anyCount });
  fc.assert(
    fc.property(any, ({ estimated, said: numbers, taken }) => {
      const known = learnFromReply({}, Math.max(1, taken ?? 1), undefined);
      const learned = learnFromOverflow(known, estimated, numbers as OverflowNumbers);
      const limit = learned.context_tokens ?? Number.POSITIVE_INFINITY;
      const room = Math.min(limit - (learned.reply_tokens ?? 0), searchedLimit(learned) ?? limit);
      expect(estimated * ratioOf(learned)).toBeGreaterThan(room);
    }),
  );
});

test("without numbers, the limit is found within a tenth, in a few refusals", () => {
  fc.assert(
    fc.property(fc.integer({ min: 9_000, max: 99_000 }), (real) => {
      let known: ModelLimits = {};
      let refusals = 0;
      for (let turn = 0; turn < 16; turn++) {
        const size = Math.min(100_000, searchedLimit(known) ?? 100_000);
        if (size > real) refusals += 1;
        known = size > real ? learnFromOverflow(known, size, {}) : learnFromReply(known, size, undefined);
      }
      expect(known.taken).toBeGreaterThanOrEqual(real * 0.85);
      expect(refusals).toBeLessThanOrEqual(10);
    }),
  );
});

// oxfmt-ignore
const REPLIES = [
  { title: "counts as its server does",                  known: {},                            estimated: 1000, counted: 750,        learned: { ratio: 0.75, taken: 750 } },
  { title: "of a dense script counts higher",            known: { ratio: 0.8, taken: 100 },    estimated: 1000, counted: 1500,       learned: { ratio: 1.5, taken: 1500 } },
  { title: "that counts only what was not cached is not believed", known: { ratio: 0.8 },      estimated: 1000, counted: 30,         learned: { ratio: 0.8, taken: 800 } },
  { title: "that is not counted leaves what is known",   known: { ratio: 0.8, taken: 900 },    estimated: 1000, counted: undefined,  learned: { ratio: 0.8, taken: 900 } },
  { title: "to a request as large as one refused before lifts that", known: { refused: 700 },  estimated: 1000, counted: 900,        learned: { ratio: 0.9, taken: 900 } },
  { title: "beyond all bounds is bounded",               known: {},                            estimated: 1000, counted: 90_000,     learned: { ratio: 4, taken: 4000 } },
  { title: "to a smaller request leaves the bound",      known: { refused: 5000, taken: 10 },  estimated: 1000, counted: 1000,       learned: { ratio: 1, taken: 1000, refused: 5000 } },
] as const;

for (const { title, known, estimated, counted, learned } of REPLIES)
  test(`a reply ${title}`, () => {
    const { last, ...limits } = learnFromReply(known, estimated, counted);
    expect(limits).toEqual(learned);
    expect(last).toEqual(counted === undefined || counted < 500 ? undefined : { estimated, counted });
  });

test("a server whose count stops growing with the requests truncates them: the count is the limit", () => {
  const sizes = [3_000, 3_600, 4_300, 5_000, 5_600, 6_200];
  let known: ModelLimits = {};
  const limits = sizes.map((size) => (known = learnFromReply(known, size, Math.min(4_095, size))));
  expect(limits.map(({ context_tokens }) => context_tokens)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    4_095,
    4_095,
  ]);
});

test("a count that is always the same and small, or that falls with a stride, says nothing about the limit", () => {
  for (const counts of [
    [1_500, 1_500, 1_500, 1_500],
    [3_000, 2_100, 2_300, 2_100],
  ]) {
    const sizes = [2_500, 2_600, 2_700, 2_800];
    const learned = counts.reduce<ModelLimits>(
      (known, counted, at) => learnFromReply(known, counts[0] === 3_000 ? counted : (sizes[at] ?? 0), counted),
      {},
    );
    expect(learned.context_tokens).toBeUndefined();
  }
});

// oxfmt-ignore
const ROOMS = [
  { title: "as much as the server keeps",        known: { reply_tokens: 64_000 }, limit: 200_000,   wanted: 8_000,   room: 64_000 },
  { title: "the longest reply that is set",      known: {},                       limit: 200_000,   wanted: 8_000,   room: 8_000 },
  { title: "half at most of what is set",        known: {},                       limit: 32_000,    wanted: 64_000,  room: 16_000 },
  { title: "a tenth where nothing is said",      known: {},                       limit: 200_000,   wanted: undefined, room: 20_000 },
  { title: "enough for a call in small windows", known: {},                       limit: 32_000,    wanted: undefined, room: 4_000 },
  { title: "a fifth of very small windows",      known: {},                       limit: 8_000,     wanted: undefined, room: 1_600 },
  { title: "no more than models write",          known: {},                       limit: 1_000_000, wanted: undefined, room: 32_000 },
] as const;

for (const { title, known, limit, wanted, room } of ROOMS)
  test(`the window leaves room for the reply: ${title}`, () => {
    expect(replyRoom(known, limit, wanted)).toBe(room);
  });
