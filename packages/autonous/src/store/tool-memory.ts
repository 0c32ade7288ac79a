import { ToolError } from "@autonous/runtime";
import type { MemoryKeeper } from "@autonous/runtime/internal";

/** Runs `work` with the memory of an open store. */
type WithMemory = <Result>(work: (memory: MemoryKeeper) => Promise<Result>) => Promise<Result>;

/** The memory for tools: store errors become tool errors with the reason. */
export function toolMemory(withMemory: WithMemory): MemoryKeeper {
  const use: WithMemory = async (work) => {
    try {
      return await withMemory(work);
    } catch (error) {
      const { StoreError } = await import("./store-error.ts");
      throw error instanceof StoreError ? new ToolError("IOError", error.message, { hint: HINT }, error) : error;
    }
  };
  return {
    create: (entry) => use((memory) => memory.create(entry)),
    update: (id, change) => use((memory) => memory.update(id, change)),
    remove: (id) => use((memory) => memory.remove(id)),
    get: (id) => use((memory) => memory.get(id)),
    restore: (entry) => use((memory) => memory.restore(entry)),
    list: (options) => use((memory) => memory.list(options)),
    search: (query, options) => use((memory) => memory.search(query, options)),
  };
}

const HINT = "Continue without the memory; ask the user to check the store (`autonous doctor`).";

/** The memory of a state folder. Opens the store at each use, because most programs never need it. */
export function memoryOf(state_dir: string): MemoryKeeper {
  return toolMemory(async (work) => {
    const { databaseFile, openStore } = await import("./open-store.ts");
    const store = await openStore({ file: databaseFile(state_dir), clock: Date.now });
    try {
      return await work(store.memory);
    } finally {
      await store.close();
    }
  });
}
