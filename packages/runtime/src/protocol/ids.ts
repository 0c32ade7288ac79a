import { randomFillSync } from "node:crypto";

type IdKind = "call" | "run" | "task" | "evt" | "undo" | "apr" | "grant" | "mem" | "prune" | "access";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"; // Crockford's base 32: no i, l, o, u
const TIME_DIGITS = 10; // 50 bits of milliseconds
const RANDOM_DIGITS = 16; // 80 bits

let lastMs = 0;
const tail = new Uint8Array(RANDOM_DIGITS); // digits of the last id's random part
const pool = new Uint8Array(4096);
let poolUsed = pool.length;

/**
 * A unique id that sorts by creation time, also within the same millisecond of one process: `call_01k4z9…`: 10 digits
 * of time, 16 random digits that are incremented within a millisecond.
 */
export function makeId(kind: IdKind, nowMs: number): string {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    drawTail();
  } else {
    countUp();
  }
  let text = "";
  let rest = lastMs;
  for (let i = 0; i < TIME_DIGITS; i++) {
    text = (ALPHABET[rest % 32] ?? "") + text;
    rest = Math.floor(rest / 32);
  }
  for (const digit of tail) text += ALPHABET[digit] ?? "";
  return `${kind}_${text}`;
}

/** A W3C trace id: 32 hexadecimal digits. */
export function makeTraceId(): string {
  return Buffer.from(randomBytes(16)).toString("hex");
}

function drawTail(): void {
  const bytes = randomBytes(RANDOM_DIGITS);
  for (let i = 0; i < RANDOM_DIGITS; i++) tail[i] = (bytes[i] ?? 0) & 31;
  tail[0] = (tail[0] ?? 0) & 15; // leaves room to increment
}

function countUp(): void {
  for (let i = RANDOM_DIGITS - 1; i >= 0; i--) {
    const digit = (tail[i] ?? 0) + 1;
    tail[i] = digit & 31;
    if (digit < 32) return;
  }
}

/** Drawn in blocks: one system call for many ids. */
function randomBytes(count: number): Uint8Array {
  if (poolUsed + count > pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  poolUsed += count;
  return pool.subarray(poolUsed - count, poolUsed);
}
