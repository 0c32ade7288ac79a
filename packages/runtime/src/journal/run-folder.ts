import { hash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  readdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { ArtifactWriter, RunFolder } from "../contract/journal.ts";
import { ToolError } from "../protocol/errors.ts";
import { isStorageRef } from "../protocol/storage-ref.ts";

/** Folder names come from run ids, so a run id must not contain characters with a meaning in paths. */
const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$/;

/** Whether a text has the form of a run id. */
export function isRunId(text: string): boolean {
  return RUN_ID.test(text);
}

function checkRunId(run_id: string): void {
  if (!isRunId(run_id)) {
    throw new ToolError(
      "InvalidArguments",
      `Cannot use run_id ${JSON.stringify(run_id)}: it must be at most 80 letters, digits, "_" and "-"`,
      { field: "run_id" },
    );
  }
}

/** `<state_dir>/runs/<run_id>`. */
export function runPath(state_dir: string, run_id: string): string {
  checkRunId(run_id);
  return join(state_dir, "runs", run_id);
}

/** Whether there is a record of the run on file. */
export function isRecorded(state_dir: string, run_id: string): boolean {
  return existsSync(join(runPath(state_dir, run_id), "events.jsonl"));
}

export function makeRunFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** A run's folder on disk: `events.jsonl`, `observations/`, `artifacts/`. */
export function openRunFolder(path: string): RunFolder {
  return {
    storeText(name, text) {
      const storage_ref = referenceTo(name);
      writeIn(path, storage_ref, text);
      return { storage_ref, sha256: hash("sha256", text, "hex") };
    },
    openAside(name) {
      const storage_ref = referenceTo(name);
      const file = join(path, storage_ref);
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      const fd = openSync(file, "w", 0o600);
      return {
        storage_ref,
        write: (bytes) => writeWhole(fd, bytes),
        close: () => closeSync(fd),
      };
    },
    openArtifact: (id) => openArtifact(path, id),
    pathOf(storage_ref) {
      const file = join(path, storage_ref);
      if (isStorageRef(storage_ref) && existsSync(file)) return file;
      const said = JSON.stringify(storage_ref);
      throw new ToolError("NotFound", `Cannot open ${said}: this run stored no file of that name`, {
        hint: "Use a storage_ref from a result of this run; files of other runs cannot be read.",
      });
    },
  };
}

function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}

function openArtifact(path: string, id: string): ArtifactWriter {
  const folder = join(path, "artifacts");
  const unnamed = join(folder, `.${id}.part`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fd = openSync(unnamed, "w", 0o600);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(fd);
    isOpen = false;
  };
  return {
    write: (bytes) => writeWhole(fd, bytes),
    keep(name) {
      fsyncSync(fd);
      close();
      renameSync(unnamed, join(folder, name));
      syncFolder(folder);
      syncFolder(path);
      return `artifacts/${name}`;
    },
    drop() {
      close();
      rmSync(unnamed, { force: true });
    },
  };
}

/** Removes the unfinished copies of a killed call. Only for an ended call, so that no process writes to them. */
export function dropUnfinished(path: string, tool_call_id: string): void {
  const folder = join(path, "artifacts");
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith(`.${tool_call_id}-`) && name.endsWith(".part")) rmSync(join(folder, name), { force: true });
  }
}

/** Callers may choose call ids; a reference is distinguished from a workspace path by its beginning. */
export function storedName(name: string): string {
  return name.startsWith("call_") ? name : `call_${name}`;
}

function referenceTo(name: string): string {
  return `observations/${storedName(name)}`;
}

/** The folder exists except the first time. */
function writeIn(path: string, name: string, text: string): void {
  const file = join(path, name);
  try {
    writeFileSync(file, text, { mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode: 0o600 });
  }
}

/** Makes the name of a new file survive a power loss. */
export function syncFolder(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
