/** Logs each problem once, and once more when all problems are resolved. */
export class Troubles {
  readonly #what: string;
  readonly #log: (line: string) => void;
  readonly #open = new Map<string, string>();
  readonly #told = new Set<string>();

  constructor(what: string, log: (line: string) => void) {
    this.#what = what;
    this.#log = log;
  }

  /** `of`: what is affected, such as a chat. The same problem of several is logged once. */
  tell(of: string, problem: string): void {
    this.#open.set(of, problem);
    if (this.#told.has(problem)) return;
    this.#told.add(problem);
    this.#log(`${this.#what}: ${problem}`);
  }

  over(of: string): void {
    if (!this.#open.delete(of) || this.#open.size > 0) return;
    this.#told.clear();
    this.#log(`${this.#what}: resolved`);
  }
}
