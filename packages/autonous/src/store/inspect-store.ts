import { statSync } from "node:fs";
import { findPending, MIGRATIONS } from "./sqlite/migrate.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { StoreError } from "./store-error.ts";

export interface StoreReport {
  readonly bytes: number;
  /** Migrations that the next start applies, by number and name. */
  readonly pending: readonly string[];
  /** Whether that start makes a copy of the current database first. */
  readonly keepsCopy: boolean;
  /** Whether every page was checked. */
  readonly looked: boolean;
}

/** Checking a larger file would take too long at startup. */
const QUICK_BYTES = 64 << 20;

/**
 * Checks an existing database without changing it. Throws a `StoreError` if a start could not use it: it is damaged, of
 * a newer version, or unreachable. `thorough`: check every page, whatever the size.
 */
export async function inspectStore(file: string, { thorough }: { readonly thorough: boolean }): Promise<StoreReport> {
  const { size } = statSync(file);
  const database = await openSqlite({ file });
  try {
    const { pending, hasData } = await findPending(database, MIGRATIONS);
    const looked = thorough || size <= QUICK_BYTES;
    const [found] = looked
      ? await database.read("check the database", (queries) =>
          queries.all<{ readonly quick_check: string }>("pragma quick_check(1)"),
        )
      : [];
    if (found !== undefined && found.quick_check !== "ok") {
      const why = `"${file}" is damaged or not a database (${found.quick_check})`;
      throw new StoreError("Corrupt", { doing: "check the database", why });
    }
    return {
      bytes: size,
      pending: pending.map(({ version, name }) => `${version} (${name})`),
      keepsCopy: hasData && pending.some(({ breaking }) => breaking === true),
      looked,
    };
  } finally {
    await database.close();
  }
}
