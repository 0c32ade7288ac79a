import type { MemoryKeeper } from "../../contract/memory.ts";
import type { Redactor } from "../../redact/redact.ts";

/** Redacts memory entries before they are stored. */
export function redactingMemory(memory: MemoryKeeper, redactor: Redactor): MemoryKeeper {
  const hide = <Given>(given: Given): Given => redactor.redactValue(given).value as Given;
  return {
    create: (entry) => memory.create(hide(entry)),
    update: (id, change) => memory.update(id, hide(change)),
    restore: (entry) => memory.restore(hide(entry)),
    remove: (id) => memory.remove(id),
    get: (id) => memory.get(id),
    list: (options) => memory.list(options),
    search: (query, options) => memory.search(query, options),
  };
}
