import fc from "fast-check";
import { expect, test } from "vitest";
import { METRICS } from "./metric-table.ts";
import { Registry } from "./registry.ts";

function linesOf(registry: Registry, name: string): string[] {
  return registry
    .text()
    .split("\n")
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`) || line.startsWith(`${name}_`));
}

test("every metric is reported with its help and type, also without a value yet", () => {
  const text = new Registry().text();
  for (const [name, { type }] of Object.entries(METRICS)) {
    expect(text).toMatch(new RegExp(`^# HELP ${name} \\S.*\\n# TYPE ${name} ${type}$`, "m"));
  }
  expect(text.endsWith("\n")).toBe(true);
});

test("names and labels are valid for Prometheus, counters end in _total, and only histograms have buckets", () => {
  for (const [name, row] of Object.entries(METRICS)) {
    expect(name).toMatch(/^autonous_[a-z_]+$/);
    expect(name.endsWith("_total")).toBe(row.type === "counter");
    expect("buckets" in row).toBe(row.type === "histogram");
    for (const label of row.labels) expect(label).toMatch(/^(?!le$)[a-z_]+$/);
    if ("buckets" in row) expect([...row.buckets].sort((a, b) => a - b)).toEqual(row.buckets);
  }
});

test("counters only rise, by finite numbers above 0", () => {
  const registry = new Registry();
  for (const amount of [1, 2.5, 0, -1, Number.NaN, Number.POSITIVE_INFINITY])
    registry.add("autonous_model_cost_total", { model: "m" }, amount);
  expect(linesOf(registry, "autonous_model_cost_total")).toEqual(['autonous_model_cost_total{model="m"} 3.5']);
});

test("a histogram counts each value in every bucket that it fits in", () => {
  const registry = new Registry();
  for (const seconds of [0.001, 0.01, 2, 5000, -1, Number.NaN])
    registry.observe("autonous_task_wait_seconds", {}, seconds);
  const lines = linesOf(registry, "autonous_task_wait_seconds");
  expect(lines).toContain('autonous_task_wait_seconds_bucket{le="0.01"} 2');
  expect(lines).toContain('autonous_task_wait_seconds_bucket{le="5"} 3');
  expect(lines).toContain('autonous_task_wait_seconds_bucket{le="3600"} 3');
  expect(lines).toContain('autonous_task_wait_seconds_bucket{le="+Inf"} 4');
  expect(lines).toContain("autonous_task_wait_seconds_sum 5002.011");
  expect(lines.at(-1)).toBe("autonous_task_wait_seconds_count 4");
});

/** Unescapes a label's value, as a scraper does. */
function readValue(line: string): string {
  const [, inside = ""] = /^[a-z_]+\{model="((?:[^"\\\n]|\\[\\"n])*)"\} \d+$/.exec(line) ?? [];
  return inside.replaceAll(/\\(.)/g, (_, each: string) => (each === "n" ? "\n" : each));
}

test("any label value stays on one line and can be read back unchanged", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (model) => {
      const registry = new Registry();
      registry.add("autonous_model_cost_total", { model });
      const [line = ""] = linesOf(registry, "autonous_model_cost_total");
      expect(readValue(line)).toBe(model.toWellFormed());
    }),
  );
});

test("a metric has a bounded number of series: further ones count as other, and no count is lost", () => {
  const registry = new Registry();
  for (let i = 0; i < 2000; i++) registry.add("autonous_tool_calls_total", { tool: `t${i}`, outcome: "ok" });
  registry.add("autonous_tool_calls_total", { tool: "t1", outcome: "ok" });
  const lines = linesOf(registry, "autonous_tool_calls_total");
  expect(lines).toHaveLength(501);
  expect(lines).toContain('autonous_tool_calls_total{tool="t1",outcome="ok"} 2');
  expect(lines.at(-1)).toBe('autonous_tool_calls_total{tool="other",outcome="other"} 1500');
});
