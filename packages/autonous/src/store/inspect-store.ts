import { statSync } from "node:fs";
import { findPending, MIGRATIONS } from "./sqlite/migrate.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { StoreError } from "./store-error.ts";

export interface StoreReport {
  readonly bytes: number;
  /** Migrations that the next start takes, by number and name. */
  readonly pending: readonly string[];
  /** That start keeps a copy of the database as it is now. */
  readonly keepsCopy: boolean;
  /** Every page was looked at. */
  readonly looked: boolean;
}

/** A larger file takes longer to look through than a start should. */
const QUICK_BYTES = 64 << 20;

/**
 * Looks at a database that is there, and changes nothing. Throws a `StoreError` where a start could not use it: it is
 * damaged, of a newer version, or cannot be reached. `thorough`: however large it is.
 */
export async function inspectStore(file: string, { thorough }: { readonly thorough: boolean }): Promise<StoreReport> {
  const { size } = statSync(file);
  const database = await openSqlite({ file });
  try {
    const { pending, hasData } = await findPending(database, MIGRATIONS);
    const looked = thorough || size <= QUICK_BYTES;
    const [found] = looked
      ? await database.read("look through the database", (queries) =>
          queries.all<{ readonly quick_check: string }>("pragma quick_check(1)"),
        )
      : [];
    if (found !== undefined && found.quick_check !== "ok") {
      const why = `"${file}" is damaged, or no database (${found.quick_check})`;
      throw new StoreError("Corrupt", { doing: "look through the database", why });
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
