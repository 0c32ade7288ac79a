import { openTerminal, plain } from "./terminal.ts";
import type { RunOptions } from "./cli.ts";

interface Granted {
  readonly code: number | null;
  /** All that the person saw. */
  readonly output: string;
}

/** A person at a terminal who runs `autonous approvals grant` with these words and, when asked, types the answer. */
export async function grantAtTerminal(
  { root, env }: { readonly root: string; readonly env: NonNullable<RunOptions["env"]> },
  words: readonly string[],
  answer = "yes",
): Promise<Granted> {
  const line = `autonous approvals grant ${words.map((word) => `'${word}'`).join(" ")}`;
  const terminal = openTerminal(line, { cwd: root, env: { ...env, NO_COLOR: "1" } });
  await terminal.sees("to grant it: ").then(
    () => terminal.type(`${answer}\r`),
    () => undefined, // it ended without a question, and says why
  );
  const { code, output } = await terminal.ended;
  return { code, output: plain(output) };
}
