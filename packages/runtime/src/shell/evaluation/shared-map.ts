/** A map by name whose copies share their content until one of them changes: a subshell seldom assigns anything. */
export class SharedMap<Value> {
  #held: Map<string, Value>;
  #isShared: boolean;

  constructor(held: Map<string, Value> = new Map(), isShared = false) {
    this.#held = held;
    this.#isShared = isShared;
  }

  get size(): number {
    return this.#held.size;
  }

  get(name: string): Value | undefined {
    return this.#held.get(name);
  }

  has(name: string): boolean {
    return this.#held.has(name);
  }

  keys(): Iterable<string> {
    return this.#held.keys();
  }

  entries(): Iterable<[string, Value]> {
    return this.#held.entries();
  }

  set(name: string, value: Value): void {
    if (this.#isShared) {
      this.#held = new Map(this.#held);
      this.#isShared = false;
    }
    this.#held.set(name, value);
  }

  clear(): void {
    this.#held = new Map();
    this.#isShared = false;
  }

  copy(): SharedMap<Value> {
    this.#isShared = true;
    return new SharedMap(this.#held, true);
  }

  /** Whether neither of two copies has changed since. */
  isSameAs(other: SharedMap<Value>): boolean {
    return this.#held === other.#held;
  }
}
