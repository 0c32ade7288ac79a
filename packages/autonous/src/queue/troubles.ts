/** Tells what is wrong once for each thing that is wrong, and when all of it is over. */
export class Troubles {
  readonly #what: string;
  readonly #log: (line: string) => void;
  readonly #open = new Map<string, string>();
  readonly #told = new Set<string>();

  constructor(what: string, log: (line: string) => void) {
    this.#what = what;
    this.#log = log;
  }

  /** `of`: whom it concerns. Many that are concerned by the same are told of as one. */
  tell(of: string, problem: string): void {
    this.#open.set(of, problem);
    if (this.#told.has(problem)) return;
    this.#told.add(problem);
    this.#log(`${this.#what}: ${problem}`);
  }

  over(of: string): void {
    if (!this.#open.delete(of) || this.#open.size > 0) return;
    this.#told.clear();
    this.#log(`${this.#what}: that is over`);
  }
}
