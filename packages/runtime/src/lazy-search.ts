import type { ToolSearch } from "./contract/search.ts";
import type { SearchOptions } from "./machine/search/search.ts";

/** Search, loaded when somebody searches: most processes do not, and start faster without. */
export function createLazySearch(options: SearchOptions): ToolSearch {
  const load = async (): Promise<ToolSearch> => (await import("./machine/search/search.ts")).createToolSearch(options);
  return {
    async *text(path, query) {
      yield* (await load()).text(path, query);
    },
    names: async (path, query) => await (await load()).names(path, query),
  };
}
