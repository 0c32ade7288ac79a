import { METRICS } from "./metric-table.ts";
import type { MetricName } from "./metric-table.ts";

type Labels<Name extends MetricName> = Readonly<Record<(typeof METRICS)[Name]["labels"][number], string>>;
type OfType<Type extends string> = {
  [Name in MetricName]: (typeof METRICS)[Name]["type"] extends Type ? Name : never;
}[MetricName];

/** Label combinations per metric, at most; further ones count as `other`. */
const MAX_SERIES = 500;

interface Histogram {
  readonly counts: number[];
  sum: number;
  count: number;
}

/** The numbers behind `/metrics`, in memory. They start at 0 with the process; Prometheus handles such resets. */
export class Registry {
  readonly #values = new Map<MetricName, Map<string, number>>();
  readonly #histograms = new Map<MetricName, Map<string, Histogram>>();

  /** Adds to a counter. Ignores an amount that is not finite or is negative: counters only rise. */
  add<Name extends OfType<"counter">>(name: Name, labels: Labels<Name>, amount = 1): void {
    if (!(amount >= 0 && Number.isFinite(amount))) return;
    const series = mapOf(this.#values, name);
    const key = roomFor(series, name, labels);
    series.set(key, (series.get(key) ?? 0) + amount);
  }

  /** Sets a counter that is counted elsewhere. */
  total<Name extends OfType<"counter">>(name: Name, labels: Labels<Name>, value: number): void {
    const series = mapOf(this.#values, name);
    series.set(roomFor(series, name, labels), value);
  }

  set<Name extends OfType<"gauge">>(name: Name, labels: Labels<Name>, value: number): void {
    const series = mapOf(this.#values, name);
    series.set(roomFor(series, name, labels), value);
  }

  /** Removes all values of a gauge, so that outdated ones are no longer reported. */
  clear(name: OfType<"gauge">): void {
    this.#values.delete(name);
  }

  observe<Name extends OfType<"histogram">>(name: Name, labels: Labels<Name>, seconds: number): void {
    if (!(seconds >= 0 && Number.isFinite(seconds))) return; // the clock may have been set back
    const { buckets } = METRICS[name];
    const series = mapOf(this.#histograms, name);
    const key = roomFor(series, name, labels);
    const histogram = series.get(key) ?? { counts: buckets.map(() => 0), sum: 0, count: 0 };
    series.set(key, histogram);
    buckets.forEach((bound, i) => {
      if (seconds <= bound) histogram.counts[i] = (histogram.counts[i] ?? 0) + 1;
    });
    histogram.sum += seconds;
    histogram.count += 1;
  }

  /** In the text format of Prometheus, version 0.0.4. */
  text(): string {
    const lines: string[] = [];
    for (const [name, row] of Object.entries(METRICS) as [MetricName, (typeof METRICS)[MetricName]][]) {
      lines.push(`# HELP ${name} ${escapeHelp(row.help)}`, `# TYPE ${name} ${row.type}`);
      for (const [labels, value] of this.#values.get(name) ?? []) lines.push(`${name}${inBraces(labels)} ${value}`);
      for (const [labels, histogram] of this.#histograms.get(name) ?? [])
        lines.push(...histogramLines(name, labels, histogram));
    }
    return `${lines.join("\n")}\n`;
  }
}

function mapOf<T>(all: Map<MetricName, Map<string, T>>, name: MetricName): Map<string, T> {
  const known = all.get(name) ?? new Map<string, T>();
  all.set(name, known);
  return known;
}

function roomFor(
  series: ReadonlyMap<string, unknown>,
  name: MetricName,
  labels: Readonly<Record<string, string>>,
): string {
  const key = labelText(name, (label) => labels[label] ?? "");
  return series.has(key) || series.size < MAX_SERIES ? key : labelText(name, () => "other");
}

/** `tool="ls",outcome="ok"`: in the order of the table, so that equal labels give equal text. */
function labelText(name: MetricName, valueOf: (label: string) => string): string {
  return METRICS[name].labels.map((label) => `${label}="${escapeLabel(valueOf(label))}"`).join(",");
}

function inBraces(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}

function histogramLines(name: MetricName, labels: string, { counts, sum, count }: Histogram): string[] {
  const row = METRICS[name];
  const buckets = "buckets" in row ? row.buckets : [];
  const start = labels === "" ? "" : `${labels},`;
  return [
    ...buckets.map((bound, i) => `${name}_bucket{${start}le="${bound}"} ${counts[i] ?? 0}`),
    `${name}_bucket{${start}le="+Inf"} ${count}`,
    `${name}_sum${inBraces(labels)} ${sum}`,
    `${name}_count${inBraces(labels)} ${count}`,
  ];
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", String.raw`\\`).replaceAll("\n", String.raw`\n`);
}

function escapeLabel(text: string): string {
  return escapeHelp(text.toWellFormed()).replaceAll('"', String.raw`\"`);
}
