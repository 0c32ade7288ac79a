import { seeded } from "../../support/seeded.ts";

/** What a campaign leaves to chance. The same seed makes the same choices; what the processes make of them may differ. */
export interface Random {
  below(end: number): number;
  /** True with a probability of `share` percent. */
  percent(share: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** One of a table's names, as often as its `often` says. */
  name<Name extends string>(rows: Readonly<Record<Name, { readonly often: number }>>): Name;
}

export function createRandom(seed: number): Random {
  const below = seeded(seed);
  function pick<T>(list: readonly T[]): T {
    const [one] = list.slice(below(list.length));
    if (one === undefined) throw new Error("The list to pick from is empty");
    return one;
  }
  return {
    below,
    percent: (share) => below(100) < share,
    pick,
    name(rows) {
      const names = Object.keys(rows) as (keyof typeof rows)[];
      return pick(names.flatMap((name) => Array.from({ length: rows[name].often }, () => name)));
    },
  };
}
