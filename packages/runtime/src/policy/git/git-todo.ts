/** The lines of a rebase that run a program: `exec make test`, `x make test`. Git skips blanks before a command. */
const RUNS = /^[ \t]*(?:exec|x)(?:[ \t\r].*)?$/gm;

/** The commands that a rebase list (`git-rebase-todo`) would run, each as its whole line. */
export function programsInTodo(text: string): readonly string[] {
  return [...text.matchAll(RUNS)].map(([line]) => line.trim());
}

/** Whether a changed list runs nothing new, and nothing more often. */
export function addsNoProgram(before: string, after: string): boolean {
  const left = [...programsInTodo(before)];
  return programsInTodo(after).every((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}
