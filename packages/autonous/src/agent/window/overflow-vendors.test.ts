/** Each vendor's server takes far less than the agent believes; the loop, the provider and the wire are the real ones. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import { expect, onTestFinished, test, vi } from "vitest";
import { page, textOf } from "../../../../../test/support/cache-simulation.ts";
import { startFakeModel } from "../../../../../emulators/fake-model/server.ts";
import type { SeenRequest } from "../../../../../emulators/fake-model/server.ts";
import { makeVendor, VENDOR_NAMES } from "../../../../../emulators/fake-model/vendors/vendors.ts";
import type { VendorName } from "../../../../../emulators/fake-model/vendors/vendors.ts";
import { createAiSdkProvider } from "../../model/ai-sdk-provider.ts";
import type { ModelKind } from "../../model/vendors/ai-sdk-models.ts";
import { runAgent } from "../loop.ts";

const REAL = 40_000;
const TURNS = 70;

interface Door {
  readonly kind: ModelKind;
  readonly path: string;
}

/** The vendors that are asked in a format of their own. */
const DOORS: Partial<Record<VendorName, readonly Door[]>> = {
  anthropic: [{ kind: "anthropic", path: "/v1" }],
  google: [{ kind: "google", path: "/v1beta" }],
  openai: [
    { kind: "openai", path: "/v1" },
    { kind: "openai-chat", path: "/v1" },
  ],
};
const CHAT: readonly Door[] = [{ kind: "compatible", path: "/v1" }];

const CASES = VENDOR_NAMES.flatMap((name) => (DOORS[name] ?? CHAT).map((door) => ({ name, ...door })));

/** What was sent, by what the server counts: all of the body. */
function sizesOf(seen: readonly SeenRequest[], status: "taken" | "refused"): readonly number[] {
  return seen.filter((each) => (each.status === 200) === (status === "taken")).map(({ bytes }) => Math.ceil(bytes / 4));
}

/** Of all input that was billed: read from the vendor's cache. */
function readShare(seen: readonly SeenRequest[]): number {
  const total = (of: (billed: SeenRequest["billed"]) => number): number =>
    seen.reduce((sum, { billed }) => sum + of(billed), 0);
  return total(({ cached_input_tokens }) => cached_input_tokens) / total(({ input_tokens }) => input_tokens);
}

for (const { name, kind, path } of CASES)
  test(`${name} (${kind}): a window that is smaller than assumed is detected, and then used`, async () => {
    const vendor = makeVendor(name);
    const seen: SeenRequest[] = [];
    let turn = 0;
    const model = await startFakeModel({
      key: null,
      context_tokens: REAL,
      keep_requests: 1,
      onRequest: (request) => void seen.push(request),
      script: ({ tools }) => {
        if (tools.length === 0) return { text: "Pages were read" };
        turn += 1;
        if (turn >= TURNS) return { text: "Done." };
        return { text: `Turn ${turn}`, calls: [{ name: "page", arguments: { number: turn, length: 5_000 } }] };
      },
    });
    const folder = await mkdtemp(join(tmpdir(), "autonous-overflow-"));
    vi.stubEnv("XDG_STATE_HOME", join(folder, "user-state"));
    const runtime = await createRuntime({ roots: [folder], state_dir: join(folder, "state"), run_id: "run_1" });
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await runtime.close();
      await model.close();
      await rm(folder, { recursive: true });
    });
    runtime.register(page);
    const access = { base_url: `${model.url}/${name}${path}`, key: "sk-test-0123456789" };
    const provider = createAiSdkProvider({ name: `${kind}:${name}`, kind, model: vendor.model, access });
    const { outcome, error, window } = await runAgent({
      runtime,
      provider,
      task: { text: `Read the pages. ${textOf(1, 200)}`, task_id: "task_1" },
      limits: { max_turns: TURNS + 5 },
      context_tokens: 200_000,
      first_tools: ["page"],
    });
    expect({ outcome, error }).toEqual({ outcome: "completed" });
    expect(seen.flatMap(({ violations }) => violations)).toEqual([]);
    if (vendor.cache !== undefined) expect(readShare(seen)).toBeGreaterThanOrEqual(0.85);
    if (vendor.truncates) {
      // It refuses nothing, and reads less than was sent: that shows in what it counts.
      expect(window?.models?.[provider.name]?.context_tokens).toBe(REAL);
      expect(sizesOf(seen, "taken").at(-1)).toBeLessThanOrEqual(REAL);
      return;
    }
    const refused = sizesOf(seen, "refused");
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(3);
    const taken = sizesOf(seen, "taken");
    const peaks = taken.filter((size, at) => size > (taken[at + 1] ?? Number.POSITIVE_INFINITY));
    expect(peaks.length).toBeGreaterThan(1);
    expect(Math.min(...peaks.slice(1)) / REAL).toBeGreaterThanOrEqual(0.8);
  }, 60_000);
