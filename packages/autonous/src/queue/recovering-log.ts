/** Logs each problem once, and once more when all problems are resolved. */
export class RecoveringLog {
  readonly #what: string;
  readonly #log: (line: string) => void;
  readonly #open = new Map<string, string>();
  readonly #logged = new Set<string>();

  constructor(what: string, log: (line: string) => void) {
    this.#what = what;
    this.#log = log;
  }

  /** `subject`: what is affected, such as a chat. The same problem of several subjects is logged once. */
  report(subject: string, problem: string): void {
    this.#open.set(subject, problem);
    if (this.#logged.has(problem)) return;
    this.#logged.add(problem);
    this.#log(`${this.#what}: ${problem}`);
  }

  resolve(subject: string): void {
    if (!this.#open.delete(subject) || this.#open.size > 0) return;
    this.#logged.clear();
    this.#log(`${this.#what}: resolved`);
  }
}
