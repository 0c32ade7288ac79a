const COPY = 0x80;
const COPY_ALL_BYTES = 0x10000;

/** Applies a git delta to its base. Throws if the delta is damaged, or the result exceeds `limit`. */
export function applyDelta(base: Buffer, delta: Buffer, limit: number): Buffer {
  const from = readSize(delta, 0);
  const to = readSize(delta, from.next);
  if (from.value !== base.length || to.value > limit)
    throw new RangeError("The delta does not match its base, or is too large");
  const result = Buffer.allocUnsafe(to.value);
  let filled = 0;
  for (let at = to.next; at < delta.length;) {
    const instruction = delta[at++] ?? 0;
    if ((instruction & COPY) === 0) {
      if (instruction === 0 || at + instruction > delta.length || filled + instruction > result.length) throw cut();
      filled += delta.copy(result, filled, at, at + instruction);
      at += instruction;
      continue;
    }
    const place = readFields(delta, at, { mask: instruction & 0x0f, bytes: 4 });
    const size = readFields(delta, place.next, { mask: (instruction >> 4) & 0x07, bytes: 3 });
    const length = size.value === 0 ? COPY_ALL_BYTES : size.value;
    at = size.next;
    if (place.value + length > base.length || filled + length > result.length) throw cut();
    filled += base.copy(result, filled, place.value, place.value + length);
  }
  if (filled !== result.length) throw cut();
  return result;
}

function cut(): RangeError {
  return new RangeError("The delta is damaged");
}

interface Field {
  readonly value: number;
  readonly next: number;
}

function readSize(delta: Buffer, start: number): Field {
  let [value, factor, next] = [0, 1, start];
  let byte: number;
  do {
    byte = delta[next++] ?? 0;
    value += (byte & 0x7f) * factor;
    factor *= 128;
  } while ((byte & 0x80) !== 0);
  return { value, next };
}

/** Only the bytes of a number whose bit is set are present. */
function readFields(delta: Buffer, start: number, { mask, bytes }: { mask: number; bytes: number }): Field {
  let [value, next] = [0, start];
  for (let each = 0; each < bytes; each++) {
    if ((mask & (1 << each)) !== 0) value += (delta[next++] ?? 0) * 2 ** (8 * each);
  }
  return { value, next };
}
