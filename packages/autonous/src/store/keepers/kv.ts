import type { Database } from "../sqlite/database.ts";
import { appendServiceEvents } from "../record/service-chain.ts";
import type { KeyValues } from "../store.ts";

const GET = "select value from kv where key = ?";
const SET = `insert into kv (key, value, updated_at) values (?, ?, ?)
  on conflict (key) do update set value = excluded.value, updated_at = excluded.updated_at`;

export function createKeyValues(database: Database, clock: () => number): KeyValues {
  return {
    get: (key) =>
      database.read(`read "${key}"`, async (queries) => {
        const row = await queries.one<{ readonly value: string }>(GET, [key]);
        return row?.value;
      }),
    set: (key, value) =>
      database.transaction(`store "${key}"`, async (queries) => {
        await queries.run(SET, [key, value, clock()]);
      }),
    update: (key, change) =>
      database.transaction(`store "${key}"`, async (queries) => {
        const row = await queries.one<{ readonly value: string }>(GET, [key]);
        const { result, value, events = [] } = change(row?.value);
        if (value !== undefined) await queries.run(SET, [key, value, clock()]);
        await appendServiceEvents(queries, events, clock());
        return result;
      }),
  };
}
