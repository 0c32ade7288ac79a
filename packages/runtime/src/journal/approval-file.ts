import { readdirSync, closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { join, dirname } from "node:path";
import type { ApprovalFilter, ApprovalKeeper, GrantHolder, OpenOptions } from "../contract/approvals.ts";
import type { Clock } from "../contract/host.ts";
import type { Approval, ApprovalAnswer, ApprovalRequest, Grant } from "../protocol/approval.ts";
import { answerIn, endIn, expireIn, findIn, findPending, isOpen, openIn, useIn } from "./approval-book.ts";
import type { ApprovalBook, BookUpdate } from "./approval-book.ts";
import { OpenApprovals } from "./open-approvals.ts";
import { readBookLeniently, readBook, requireFile } from "./run-approvals.ts";
import type { RunApprovals } from "./run-approvals.ts";
import { isRunId, makeRunFolder, runPath, syncFolder } from "./run-folder.ts";
import { waitForChange } from "./wait-for-change.ts";

export interface ApprovalFilesOptions {
  readonly state_dir: string;
  readonly clock: Clock;
  /** Runs the work with an exclusive lock on the path, across all processes that use this state folder. */
  readonly hold: <T>(path: string, work: () => T | Promise<T>) => Promise<T>;
}

const APPROVALS_FILE = "approvals.json";
const OPEN = "open-approvals";

/**
 * Requests and grants of a run in its folder, grants of sessions in the state folder. Every change is made under a lock
 * that all processes share, and reaches the disk in one step, so that a crash leaves the old content or the new.
 */
export class ApprovalFiles implements ApprovalKeeper {
  readonly #options: ApprovalFilesOptions;
  readonly #open: OpenApprovals;
  readonly #sessions: string;

  constructor(options: ApprovalFilesOptions) {
    this.#options = options;
    this.#open = new OpenApprovals(join(options.state_dir, OPEN));
    this.#sessions = join(options.state_dir, "grants.json");
  }

  async open(request: ApprovalRequest, options: OpenOptions = {}): Promise<Approval> {
    if (options.shared !== "any") return await this.#openOne(request, options);
    // If two processes request the same call at once, the second finds the request of the first.
    return await this.#options.hold(join(this.#options.state_dir, OPEN), async () => {
      return this.#findPending(request.digest) ?? (await this.#openOne(request, options));
    });
  }

  async #openOne(request: ApprovalRequest, options: OpenOptions): Promise<Approval> {
    makeRunFolder(runPath(this.#options.state_dir, request.run_id));
    return await this.#turn(request.run_id, (book) => {
      // The entry comes first: an entry without a request is skipped, but a request without an entry would not be found.
      this.#open.add(request);
      const turned = openIn(book, request, { ...options, now: this.#options.clock() });
      if (turned.result.request.approval_id !== request.approval_id) this.#open.remove(request.approval_id);
      return turned;
    });
  }

  // oxlint-disable-next-line typescript/require-await -- makers on other systems have to wait
  async get(approval_id: string): Promise<Approval | undefined> {
    return this.#find(approval_id)?.approval;
  }

  // oxlint-disable-next-line typescript/require-await -- makers on other systems have to wait
  async findGranted(digest: string): Promise<Approval | undefined> {
    const ofDigest = this.#open.entries().filter((entry) => entry.digest === digest);
    for (const { run_id, approval_id } of ofDigest) {
      const approval = findIn(this.#bookOf(run_id), approval_id);
      if (approval?.state === "granted" && approval.answer?.args === undefined) return approval;
    }
    return undefined;
  }

  #findPending(digest: string): Approval | undefined {
    const ofDigest = this.#open.entries().filter((entry) => entry.digest === digest);
    for (const { run_id } of ofDigest) {
      const found = findPending(this.#bookOf(run_id), digest);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  // oxlint-disable-next-line typescript/require-await -- makers on other systems have to wait
  async list({ state, run_id: only }: ApprovalFilter = {}): Promise<readonly Approval[]> {
    const isOpenState = state === "pending" || state === "granted";
    const runs = isOpenState ? new Set(this.#open.entries().map(({ run_id }) => run_id)) : this.#runs();
    const wanted = [...runs].filter((run_id) => only === undefined || run_id === only);
    const all = wanted.flatMap((run_id) => this.#bookOf(run_id));
    return all
      .filter((each) => state === undefined || each.state === state)
      .sort((one, other) => (one.request.approval_id < other.request.approval_id ? -1 : 1));
  }

  async answer(
    approval_id: string,
    answer: ApprovalAnswer,
  ): Promise<{ readonly won: boolean; readonly approval: Approval } | undefined> {
    return await this.#turnOf(approval_id, (book, now) => answerIn(book, { approval_id, answer, now }));
  }

  async end(approval_id: string, state: "expired" | "withdrawn"): Promise<void> {
    await this.#turnOf(approval_id, (book, now) => endIn(book, { approval_id, state, now }));
  }

  async use(approval_id: string): Promise<boolean> {
    return (await this.#turnOf(approval_id, (book, now) => useIn(book, approval_id, now))) ?? false;
  }

  async wait(approval_id: string, signal: AbortSignal): Promise<Approval> {
    const found = this.#find(approval_id);
    if (found === undefined) throw new Error(`Cannot wait for approval "${approval_id}": not found`);
    const path = this.#pathOf(found.run_id);
    return await waitForChange(path, signal, () => {
      const approval = findIn(this.#bookOf(found.run_id), approval_id);
      if (approval === undefined) throw new Error(`Approval "${approval_id}" no longer exists`);
      return approval.state === "pending" ? undefined : approval;
    });
  }

  async addGrant(grant: Grant): Promise<void> {
    const add = (grants: readonly Grant[]): readonly Grant[] =>
      grants.some(({ grant_id }) => grant_id === grant.grant_id) ? grants : [...grants, grant];
    if (grant.scope === "run") makeRunFolder(runPath(this.#options.state_dir, grant.run_id));
    await this.#changeGrants(grant.scope === "run" ? this.#pathOf(grant.run_id) : this.#sessions, add);
  }

  // oxlint-disable-next-line typescript/require-await -- makers on other systems have to wait
  async grants(holder?: GrantHolder): Promise<readonly Grant[]> {
    if (holder === undefined) requireFile(this.#sessions);
    const runs = holder === undefined ? this.#runs() : [holder.run_id].filter(isRunId);
    const ofRuns = runs.flatMap((run_id) => readBookLeniently(this.#pathOf(run_id)).grants);
    const ofSessions = readBookLeniently(this.#sessions).grants;
    return [
      ...ofRuns.filter(({ run_id }) => holder === undefined || run_id === holder.run_id),
      ...ofSessions.filter(({ session }) => holder === undefined || session === holder.session),
    ];
  }

  async revoke(grant_id: string): Promise<boolean> {
    const paths = [this.#sessions, ...this.#runs().map((run_id) => this.#pathOf(run_id))];
    const path = paths.find((each) => readBookLeniently(each).grants.some((grant) => grant.grant_id === grant_id));
    if (path === undefined) return false;
    return await this.#changeGrants(path, (grants) => grants.filter((grant) => grant.grant_id !== grant_id));
  }

  async #changeGrants(path: string, change: (grants: readonly Grant[]) => readonly Grant[]): Promise<boolean> {
    return await this.#options.hold(path, () => {
      const book = readBook(path);
      const grants = change(book.grants);
      if (grants.length === book.grants.length) return false;
      replaceFile(path, textOf({ ...book, grants }));
      return true;
    });
  }

  /** Undefined if no such request exists. */
  async #turnOf<T>(
    approval_id: string,
    turn: (book: ApprovalBook, now: number) => BookUpdate<T>,
  ): Promise<T | undefined> {
    const found = this.#find(approval_id);
    if (found === undefined) return undefined;
    return await this.#turn(found.run_id, (book) => turn(book, this.#options.clock()));
  }

  async #turn<T>(run_id: string, turn: (book: ApprovalBook) => BookUpdate<T>): Promise<T> {
    const path = this.#pathOf(run_id);
    return await this.#options.hold(path, () => {
      const before = readBook(path);
      const { book, result } = turn(before.approvals);
      if (book !== before.approvals) replaceFile(path, textOf({ ...before, approvals: book }));
      const over = book.filter((each) => !isOpen(each));
      this.#open.removeAll(new Set(over.map(({ request }) => request.approval_id)));
      return result;
    });
  }

  #find(approval_id: string): { readonly run_id: string; readonly approval: Approval } | undefined {
    const known = this.#open.entries().find((entry) => entry.approval_id === approval_id)?.run_id;
    if (known !== undefined) readBook(this.#pathOf(known)); // a damaged file is an error, not a missing request
    for (const run_id of known === undefined ? this.#runs() : [known]) {
      const approval = findIn(this.#bookOf(run_id), approval_id);
      if (approval !== undefined) return { run_id, approval };
    }
    return undefined;
  }

  /** The current state; includes expirations that no process has written yet. */
  #bookOf(run_id: string): ApprovalBook {
    return expireIn(readBookLeniently(this.#pathOf(run_id)).approvals, this.#options.clock());
  }

  #pathOf(run_id: string): string {
    return join(runPath(this.#options.state_dir, run_id), APPROVALS_FILE);
  }

  #runs(): readonly string[] {
    return namesIn(join(this.#options.state_dir, "runs")).filter(isRunId);
  }
}

/** Exports a run's approvals from another store, for users and other programs to read. A copy, not the source. */
export function writeRunApprovals(
  run: { readonly state_dir: string; readonly run_id: string },
  has: RunApprovals,
): void {
  const folder = runPath(run.state_dir, run.run_id);
  makeRunFolder(folder);
  replaceFile(join(folder, APPROVALS_FILE), textOf(has));
}

/** Whether a request of the run is still open, or an approval is not used yet. */
export function hasOpenApproval(run: { readonly state_dir: string; readonly run_id: string }, now: number): boolean {
  return expireIn(readBookLeniently(join(runPath(run.state_dir, run.run_id), APPROVALS_FILE)).approvals, now).some(
    isOpen,
  );
}

/** For a run that is no longer kept. */
export function forgetOpenApprovals(state_dir: string, run_ids: ReadonlySet<string>): void {
  const open = new OpenApprovals(join(state_dir, OPEN));
  const over = open.entries().filter(({ run_id }) => run_ids.has(run_id));
  open.removeAll(new Set(over.map(({ approval_id }) => approval_id)));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function textOf({ approvals, grants }: RunApprovals): string {
  return `${JSON.stringify(approvals.length === 0 ? { grants } : { approvals, grants }, null, 1)}\n`;
}

/** Leaves the old content or the new, whatever happens, and is on the disk when this returns. One writer at a time. */
function replaceFile(path: string, text: string): void {
  const temporary = `${path}.new`;
  const fd = openSync(temporary, "w", 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
  syncFolder(dirname(path));
}
