import type { WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { startEngine } from "../processes/engine.ts";
import { findProgram, PROGRAMS } from "../processes/programs.ts";
import type { FdAbilities } from "./arguments.ts";

export interface Fd {
  readonly program: string;
  readonly abilities: FdAbilities;
}

/** A cache: installed programs are looked up once per workspace. */
const rgByWorkspace = new WeakMap<WorkspaceContext, Promise<string | undefined>>();
const fdByWorkspace = new WeakMap<WorkspaceContext, Promise<Fd | undefined>>();

/** Throws `IOError` if ripgrep is missing. */
export async function rgOf(workspace: WorkspaceContext): Promise<string> {
  const found = await remember(rgByWorkspace, workspace, () => findProgram("rg", workspace));
  if (found !== undefined) return found;
  const { install } = PROGRAMS.rg;
  throw new ToolError("IOError", `Cannot search: ripgrep is not installed; install it with "${install}"`, {
    program: "rg",
    install,
  });
}

export async function fdOf(workspace: WorkspaceContext): Promise<Fd | undefined> {
  return await remember(fdByWorkspace, workspace, async () => {
    const program = await findProgram("fd", workspace);
    return program === undefined ? undefined : await probe(program);
  });
}

/** Detects the options that fd supports: distributions ship very different versions. */
async function probe(program: string): Promise<Fd | undefined> {
  const engine = startEngine({ program, args: ["--help"], cwd: "/", signal: new AbortController().signal });
  const pieces: Buffer[] = [];
  for await (const piece of engine.output) pieces.push(piece);
  const { code } = await engine.ended;
  const help = Buffer.concat(pieces).toString("utf8");
  if (code !== 0 || !NEEDED.every((option) => help.includes(option))) return undefined;
  const can = (option: keyof FdAbilities): boolean => help.includes(option);
  return {
    program,
    abilities: {
      "--no-require-git": can("--no-require-git"),
      "--no-global-ignore-file": can("--no-global-ignore-file"),
      "--show-errors": can("--show-errors"),
    },
  };
}

const NEEDED = ["--print0", "--no-ignore-parent", "--glob", "--exclude", "--ignore-file"];

async function remember<T>(
  known: WeakMap<WorkspaceContext, Promise<T>>,
  workspace: WorkspaceContext,
  find: () => Promise<T>,
): Promise<T> {
  const found = known.get(workspace) ?? find();
  known.set(workspace, found);
  return await found;
}
