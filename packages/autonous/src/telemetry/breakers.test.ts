import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { openStore } from "../store/open-store.ts";
import { BreakerBoard, readBreakers } from "./breakers.ts";

test("the breaker states of the worker are stored for other processes to read, until the worker exits", async () => {
  const { path } = await scratchFolder();
  const store = await openStore({ file: join(path, "autonous.db"), clock: Date.now });
  onTestFinished(() => store.close());
  const log: string[] = [];
  const board = new BreakerBoard({ kv: store.kv, log: (line) => log.push(line) });
  const open = { provider: "h m", state: "open", failures_in_a_row: 5, retry_at: 1000 } as const;
  const closed = { provider: "h n", state: "closed", failures_in_a_row: 0 } as const;

  expect(await readBreakers(store.kv)).toEqual([]);
  board.put({ ...open, state: "half_open" });
  board.put(open);
  board.put(closed);
  await board.close();
  expect(board.all).toEqual([open, closed]);
  expect(await readBreakers(store.kv)).toEqual([open, closed]);
  board.clear();
  await board.close();
  expect(await readBreakers(store.kv)).toEqual([]);
  expect(log).toEqual([]);
});

test("a store that cannot be written is logged, and nothing else happens", async () => {
  const log: string[] = [];
  const kv = { get: () => Promise.resolve(undefined), set: () => Promise.reject(new Error("full")) };
  const board = new BreakerBoard({ kv, log: (line) => log.push(line) });
  board.put({ provider: "h m", state: "closed", failures_in_a_row: 0 });
  await board.close();
  expect(log).toEqual(["Cannot store the state of the circuit breakers: full"]);
});
