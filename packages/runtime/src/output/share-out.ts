/**
 * How much of each size fits into a total: small ones fit completely, and the large ones share the rest equally, so
 * that no long text displaces all others.
 */
export function shareOut(sizes: readonly number[], total: number): readonly number[] {
  let left = total;
  const shares = sizes.map(() => 0);
  const smallestFirst = sizes.map((size, index) => ({ size, index })).sort((one, other) => one.size - other.size);
  for (const [at, { size, index }] of smallestFirst.entries()) {
    const share = Math.min(size, Math.floor(left / (sizes.length - at)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}

/**
 * The beginning of a text within a number of bytes: cut after the last of these marks, tried in order, unless that
 * loses more than half of it; otherwise between characters.
 */
export function cutAfter(text: string, bytes: number, marks: readonly string[]): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  const kept = new TextDecoder().decode(all.subarray(0, bytes), { stream: true });
  for (const mark of marks) {
    const end = kept.lastIndexOf(mark) + mark.length;
    if (end - mark.length >= 0 && end > kept.length / 2) return kept.slice(0, end);
  }
  return kept;
}
