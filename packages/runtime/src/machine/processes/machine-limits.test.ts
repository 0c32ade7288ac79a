import { expect, test } from "vitest";
import { limitsFor, machineFacts, machineLimits } from "./machine-limits.ts";
import type { MachineFacts } from "./machine-limits.ts";

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

// oxfmt-ignore
const MACHINES: readonly (MachineFacts & { title: string; memory: number; processes: number; file: number })[] = [
  { title: "a small server",       memory_bytes: GIB,        processors: 1,  disk_bytes: 10 * GIB,   memory: 512 * MIB,   processes: 192, file: 2560 * MIB },
  { title: "a tiny container",     memory_bytes: 128 * MIB,  processors: 1,  disk_bytes: 100 * MIB,  memory: 256 * MIB,   processes: 192, file: 256 * MIB },
  { title: "a laptop",             memory_bytes: 16 * GIB,   processors: 8,  disk_bytes: 500 * GIB,  memory: 8 * GIB,     processes: 512, file: 8 * GIB },
  { title: "a very large machine", memory_bytes: 2048 * GIB, processors: 96, disk_bytes: 1e15,       memory: 8 * GIB,     processes: 512, file: 8 * GIB },
  { title: "an odd amount",        memory_bytes: 3 * GIB + 5, processors: 2, disk_bytes: 7 * GIB + 3, memory: 1536 * MIB, processes: 256, file: 1792 * MIB },
];

test.each(MACHINES)(
  "on $title a command may take what the machine can give",
  ({ memory, processes, file, ...facts }) => {
    expect(machineLimits(facts)).toEqual({ memory_bytes: memory, processes, file_bytes: file, open_files: 8192 });
  },
);

test("this machine has memory, CPUs and a disk", () => {
  const { memory_bytes, processors, disk_bytes } = machineFacts();
  expect(Math.min(memory_bytes, processors, disk_bytes)).toBeGreaterThan(0);
});

test("configured limits apply, and the machine's limits for the rest", () => {
  expect(limitsFor({ processes: 20 })).toEqual({ ...machineLimits(), processes: 20 });
});

// oxfmt-ignore
const WRONG = [
  { memory_bytes: 0 }, { memory_bytes: 1000 }, { memory_bytes: Number.NaN }, { memory_bytes: Infinity }, { processes: -1 }, { processes: 7 },
  { processes: 20.5 }, { file_bytes: 0 }, { open_files: 3 }, { open_files: "many" as never }, { processes: undefined as never },
];

test.each(WRONG)("a limit too low for any command is refused: %o", (given) => {
  expect(() => limitsFor(given)).toThrow(/"command_limits\.\w+" has to be a whole number of at least \d+, not /);
});
