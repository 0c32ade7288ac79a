import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import { locateState } from "@autonous/runtime/internal";
import type { Runtime, RuntimeEvent, RuntimeOptions } from "@autonous/runtime";
import { onTestFinished } from "vitest";

/** The state folder that a workspace has where none is named. */
export function stateOf(workspace: string, more: NodeJS.ProcessEnv = {}): string {
  return locateState({ workspace, environment: { ...process.env, ...more } });
}

export interface Folder {
  /** The real path of a new folder, gone when the test ends. */
  readonly path: string;
  /** Makes files; a name that ends in "/" is a folder, a value `-> x` a link. */
  make(files: Readonly<Record<string, string>>): Promise<void>;
  read(name: string): Promise<string>;
}

export async function scratchFolder(): Promise<Folder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "autonous-test-")));
  onTestFinished(() => removeTree(path));
  return {
    path,
    async make(files) {
      for (const [name, content] of Object.entries(files)) {
        const target = join(path, name);
        await mkdir(name.endsWith("/") ? target : dirname(target), { recursive: true });
        if (content.startsWith("-> ")) await symlink(content.slice(3), target);
        else if (!name.endsWith("/")) await writeFile(target, content);
      }
    },
    read: (name) => readFile(join(path, name), "utf8"),
  };
}

/** Also where a test closed folders to a plain user. */
async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    await openFolders(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function openFolders(path: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await openFolders(join(path, entry.name));
}

export interface Scratch extends Folder {
  readonly runtime: Runtime;
  call(name: string, args?: unknown): ReturnType<Runtime["call"]>;
  events(): Promise<RuntimeEvent[]>;
}

/** A real folder with a real runtime on it, both gone when the test ends. The root is `root/`, so that there is an outside. */
export async function scratch(options: Partial<RuntimeOptions> = {}): Promise<Scratch> {
  const folder = await scratchFolder();
  await mkdir(join(folder.path, "root"));
  const runtime = await createRuntime({ roots: [join(folder.path, "root")], ...options });
  onTestFinished(() => runtime.close());
  return {
    ...folder,
    runtime,
    call: (name, args = {}) => runtime.call({ name, args }),
    async events() {
      const events: RuntimeEvent[] = [];
      for await (const event of runtime.events()) events.push(event);
      return events;
    },
  };
}
