import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

export interface Figures {
  readonly p50: number;
  readonly perSecond: number;
}

export function figuresOf(samples: readonly number[]): Figures {
  const sorted = samples.toSorted((a, b) => a - b);
  const total = samples.reduce((sum, each) => sum + each, 0);
  return { p50: sorted[Math.floor(sorted.length / 2)] ?? 0, perSecond: (samples.length / total) * 1000 };
}

async function timeOf(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export async function measure(rounds: number, work: () => unknown): Promise<Figures> {
  for (let i = 0; i < rounds / 5; i++) await work();
  const samples: number[] = [];
  for (let i = 0; i < rounds; i++) samples.push(await timeOf(work));
  return figuresOf(samples);
}

export interface Compared {
  readonly ours: Figures;
  readonly floor: Figures;
  readonly ratio: number;
}

/** Alternates, so that both are measured under the same noise. */
export async function compare(rounds: number, ours: () => unknown, floor: () => unknown): Promise<Compared> {
  for (let i = 0; i < rounds / 5; i++) {
    await ours();
    await floor();
  }
  const samples: { readonly ours: number[]; readonly floor: number[] } = { ours: [], floor: [] };
  for (let i = 0; i < rounds; i++) {
    samples.ours.push(await timeOf(ours));
    samples.floor.push(await timeOf(floor));
  }
  const [figures, bare] = [figuresOf(samples.ours), figuresOf(samples.floor)];
  return { ours: figures, floor: bare, ratio: figures.p50 / bare.p50 };
}

export function milliseconds(value: number): string {
  return value < 10 ? `${value.toFixed(2)} ms` : `${value.toFixed(0)} ms`;
}

/** Runs a program to its end and discards its output. */
export async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "ignore"] });
  child.stdout.resume();
  await new Promise<void>((resolve, reject) => child.on("close", () => resolve()).on("error", reject));
}

/** The peak memory of a process in KB; 0 if it cannot be read. */
export function peakOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0; // the process has exited
  }
}
