import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { runUndoCampaign } from "./campaigns/undo.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";

test.skipIf(!hasSandbox)(
  `changes of generated commands are undone byte for byte and mode for mode${needs}`,
  { timeout: 300_000 },
  async () => {
    const { different, changed, restored, stated } = await runUndoCampaign({ operations: 40, seed: 3 });

    expect(different).toEqual([]);
    expect(changed).toBeGreaterThan(20);
    expect(restored + stated).toBe(changed);
  },
);
