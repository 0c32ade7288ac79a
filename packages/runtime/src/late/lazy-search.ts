import type { ToolSearch } from "../contract/search.ts";
import type { SearchOptions } from "../machine/search/create-search.ts";

/** Search, loaded on first use: most processes do not need it, and start faster without it. */
export function createLazySearch(options: SearchOptions): ToolSearch {
  const load = async (): Promise<ToolSearch> =>
    (await import("../machine/search/create-search.ts")).createToolSearch(options);
  return {
    async *text(path, query) {
      yield* (await load()).text(path, query);
    },
    names: async (path, query) => await (await load()).names(path, query),
  };
}
