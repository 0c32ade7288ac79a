import { listSkills } from "@autonous/runtime";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace, isTrustedSkill } from "../open-runtime.ts";
import { table } from "../table.ts";

/** `autonous skills`: what is there, whether it is trusted, and what is broken. */
export async function skills(input: CommandInput): Promise<ExitCode> {
  const { print } = input;
  const { roots, cwd, state_dir } = findWorkplace(input);
  const index = await listSkills({ roots, cwd, state_dir, isTrustedSkill });
  if (print.json) {
    print.document(index);
    return EXIT.done;
  }
  const rows = index.skills.map(({ name, source, trusted, description }) => [
    name,
    source,
    trusted ? "yes" : "no",
    description,
  ]);
  if (rows.length > 0) {
    print.text(table([["SKILL", "FROM", "TRUSTED", "WHAT IT IS FOR"], ...rows], { width: print.textWidth, fixed: 3 }));
  } else print.note("There are no skills here");
  if (index.skills.some(({ trusted }) => !trusted)) {
    print.note("Those that are not trusted came with the workspace; autonous policy trust shows and trusts them");
  }
  for (const { folder, problems } of index.broken) print.note(`Broken: ${folder}: ${problems.join("; ")}`);
  for (const problem of index.problems) print.note(problem);
  return EXIT.done;
}
