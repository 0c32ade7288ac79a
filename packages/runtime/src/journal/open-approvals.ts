import { mkdirSync, readdirSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ApprovalRequest } from "../protocol/approval.ts";

interface OpenEntry {
  readonly approval_id: string;
  readonly run_id: string;
  readonly digest: string;
}

const NAME = /^(?<approval_id>[\w-]+)~(?<run_id>[\w-]+)~(?<digest>[\w-]+)$/;

/**
 * Which requests may be open, as names of empty files: found by reading one folder, however many runs there are. Only
 * an index: the run's file has the requests themselves.
 */
export class OpenApprovals {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  add({ approval_id, run_id, digest }: ApprovalRequest): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.#folder, `${approval_id}~${run_id}~${digest}`), "", { mode: 0o600 });
  }

  remove(approval_id: string): void {
    this.removeAll(new Set([approval_id]));
  }

  removeAll(approval_ids: ReadonlySet<string>): void {
    if (approval_ids.size === 0) return;
    for (const name of this.#names()) {
      const approval_id = NAME.exec(name)?.groups?.["approval_id"];
      if (approval_id !== undefined && approval_ids.has(approval_id)) removeIfThere(join(this.#folder, name));
    }
  }

  /** Oldest first. */
  entries(): readonly OpenEntry[] {
    const names = [...this.#names()].sort();
    return names.flatMap((name) => {
      const { approval_id, run_id, digest } = NAME.exec(name)?.groups ?? {};
      if (approval_id === undefined || run_id === undefined || digest === undefined) return [];
      return [{ approval_id, run_id, digest }];
    });
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.#folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // another process was faster
  }
}
