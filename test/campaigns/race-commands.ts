/**
 * Sandboxed commands are started again and again while another sandboxed command exchanges folders with links all the
 * time. Nothing outside may change, nothing that is hidden may be read, nothing that is read-only may change. The one
 * that moves belongs to the same process, or with `apart` to another one, as that of a second runtime on the workspace
 * does: it is not held still while others start.
 */
import { fork } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { CommandLimits } from "../../packages/runtime/src/contract/processes.ts";
import type { Launch } from "../../packages/runtime/src/machine/processes/launch.ts";
import { runCommand } from "../../packages/runtime/src/machine/processes/run.ts";
import { openSandbox } from "../../packages/runtime/src/machine/sandbox/sandbox.ts";
import type { Sandbox } from "../../packages/runtime/src/machine/sandbox/sandbox.ts";
import { moveFolders } from "./move-folders.ts";
import { ToolError } from "../../packages/runtime/src/protocol/errors.ts";

export interface CommandRaceResult {
  readonly starts: number;
  /** What was reached, in words, at most 20. */
  readonly breaches: readonly string[];
  /** Files of the workspace that bubblewrap emptied while they were moved: a stated limit where the mover is apart. */
  readonly emptied: readonly string[];
  /** How the starts ended: `ok`, or the error's code. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Exchanges that the other command made. */
  readonly exchanges: number;
}

const LIMITS: CommandLimits = { memory_bytes: 2e9, processes: 128, file_bytes: 1e9, open_files: 1024 };
const KEY = "key-that-is-hidden";
const FIXED = "setting-that-is-read-only";
/** The outside is compared byte for byte after this many starts. */
const COMPARED_EVERY = 25;
const FLIPS = ["flip", "deep/flip", "deep/er/flip"] as const;

/** What every folder that is exchanged holds. */
const PROTECTED: Readonly<Record<string, string>> = {
  ".npmrc": FIXED,
  ".envrc": FIXED,
  ".vscode/settings.json": FIXED,
  ".git/config": FIXED,
  ".git/HEAD": "ref: refs/heads/main\n",
  ".git/hooks/pre-commit": FIXED,
  ".git/objects/x": "",
  ".git/refs/x": "",
  "server.pem": KEY,
  ".ssh/id_rsa": KEY,
  "plain.txt": "plain",
};

/** The same names outside, so that whatever leads there finds something to change. */
const OUTSIDE: Readonly<Record<string, string>> = { ...PROTECTED, "autostart/x": "outside" };

const NAMES = FLIPS.flatMap((flip) => [flip, ...[0, 1, 2, 3].map((at) => `${flip}-${at}`)]);
/** Writes and reads wherever the exchanged names lead, with as few processes as possible: starts are what is raced. */
const PROBE = `exec 2>/dev/null
for n in ${NAMES.join(" ")}; do
  for f in .npmrc .envrc .vscode/settings.json .git/config .git/hooks/pre-commit autostart/x new; do echo changed >> $n/$f; done
  for f in server.pem .ssh/id_rsa; do IFS= read -r line < $n/$f; echo "$line"; done
done
mv flip/.git flip/.git2; mkdir flip-0/made
`;

export async function raceCommands(starts: number, { apart = false } = {}): Promise<CommandRaceResult> {
  const folder = realpathSync(mkdtempSync("/var/tmp/autonous-race-"));
  const at = (name: string): string => join(folder, name);
  plant(folder);
  const before = treeOf([at("outside"), at("home")]);
  const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state"), at("mover-state")] };
  const sandbox = await openSandbox({ mode: "required", workspace, state_dir: at("state"), limits: LIMITS });
  const outcomes: Record<string, number> = {};
  const breaches = new Set<string>();
  const stopMoving = apart ? await moveApart(folder) : await moveBeside(sandbox, at("root"));
  try {
    for (let start = 0; start < starts && breaches.size < 20; start++) {
      const { outcome, printed } = await run(sandbox, { run: PROBE, cwd: at("root") });
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (printed.includes(KEY)) breaches.add("a hidden file was read");
      if (start % COMPARED_EVERY !== 0 && start !== starts - 1) continue;
      for (const difference of differences(before, treeOf([at("outside"), at("home")]))) breaches.add(difference);
    }
  } finally {
    await stopMoving();
    sandbox.close();
  }
  const inside = changedInside(at("root"));
  const emptied = apart ? inside.filter(({ content }) => content === "").map(({ path }) => path) : [];
  for (const { path, content } of inside) {
    if (!emptied.includes(path)) breaches.add(`"${path}" was changed to ${JSON.stringify(content)}`);
  }
  for (const difference of differences(before, treeOf([at("outside"), at("home")]))) breaches.add(difference);
  const exchanges = Number(readFileSync(at("root/count"), "utf8"));
  rmSync(folder, { recursive: true, force: true });
  return { starts, breaches: [...breaches], emptied, outcomes, exchanges };
}

/** Returns a function that ends it. */
async function moveApart(folder: string): Promise<() => Promise<void>> {
  const mover = fork(join(import.meta.dirname, "move-folders.ts"), [folder, ...FLIPS]);
  const end = new Promise<void>((resolve) => mover.once("exit", () => resolve()));
  await new Promise((resolve) => mover.once("message", resolve));
  return async () => {
    if (mover.connected) mover.disconnect();
    await end;
  };
}

async function moveBeside(sandbox: Sandbox, root: string): Promise<() => Promise<void>> {
  const stop = new AbortController();
  let moving = Promise.resolve();
  await new Promise<void>((onMoving) => {
    moving = moveFolders(sandbox, { root, flips: FLIPS, signal: stop.signal, onMoving });
  });
  return async () => {
    stop.abort();
    await moving;
  };
}

function plant(folder: string): void {
  const outside = join(folder, "outside");
  write(outside, OUTSIDE);
  write(join(folder, "home"), { ".config/autostart/x": "outside", ".npmrc": KEY, ".netrc": KEY, ".ssh/id_rsa": KEY });
  for (const state of ["state", "mover-state"]) mkdirSync(join(folder, state));
  for (const flip of FLIPS) {
    const path = join(folder, "root", flip);
    write(path, PROTECTED);
    const up = "../".repeat(flip.split("/").length);
    // As the sandbox program sees the machine while it works, by a relative way, and by the full name.
    const links = [
      `/oldroot${outside}`,
      `${up}outside`,
      `/oldroot${folder}/home/.config`,
      join(folder, "home/.config"),
    ];
    for (const [index, target] of links.entries()) symlinkSync(target, `${path}-${index}`);
  }
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

async function run(
  sandbox: Sandbox,
  options: { run: string | readonly [string, ...string[]]; cwd: string; signal?: AbortSignal; timeout_ms?: number },
): Promise<{ readonly outcome: string; readonly printed: string }> {
  const { run: text, cwd, signal = new AbortController().signal, timeout_ms = 60_000 } = options;
  let printed = "";
  const onOutput = (_: unknown, piece: Buffer): void => {
    if (printed.length < 100_000) printed += piece.toString("latin1");
  };
  try {
    const launch = (): Launch => sandbox.launch({ run: text, cwd });
    const { ended_by } = await runCommand(launch, { call_id: "race", limits: LIMITS, timeout_ms, signal, onOutput });
    return { outcome: ended_by === "itself" ? "ok" : ended_by, printed };
  } catch (error) {
    if (error instanceof ToolError) return { outcome: error.code, printed };
    throw error;
  }
}

/** Every entry below the folders: kind, mode and content. */
function treeOf(folders: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const folder of folders) {
    for (const name of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })]) {
      const path = join(folder, name);
      const { mode } = lstatSync(path);
      const content = (mode & 0o170000) === 0o100000 ? readFileSync(path, "latin1") : "";
      found.set(path, `${mode.toString(8)}:${content}`);
    }
  }
  return found;
}

function differences(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): readonly string[] {
  return [...new Set([...before.keys(), ...now.keys()])]
    .filter((path) => before.get(path) !== now.get(path))
    .map((path) => `"${path}" was changed`);
}

/** Read-only places that are not as they were, wherever the folders are by now. */
function changedInside(root: string): readonly { readonly path: string; readonly content: string }[] {
  return FLIPS.flatMap((flip) => {
    const folder = NAMES.filter((name) => name.startsWith(flip))
      .map((name) => join(root, name))
      .find((path) => lstatSync(path).isDirectory());
    if (folder === undefined) return [{ path: flip, content: "nothing" }];
    return Object.entries(PROTECTED)
      .filter(([, planted]) => planted === FIXED)
      .map(([name]) => ({ path: `${flip}/${name}`, content: readFileSync(join(folder, name), "utf8") }))
      .filter(({ content }) => content !== FIXED);
  });
}
