/** The lines of a rebase that run a program: `exec make test`, `x make test`. Git skips blanks before a command. */
const RUNS = /^[ \t]*(?:exec|x)(?:[ \t\r].*)?$/gm;

/** What a list of what a rebase is still to do (`git-rebase-todo`) runs, each as its line stands. */
export function programsInTodo(text: string): readonly string[] {
  return [...text.matchAll(RUNS)].map(([line]) => line.trim());
}

/** Whether such a list became one that runs nothing that it did not run before, and not more often. */
export function addsNoProgram(before: string, after: string): boolean {
  const left = [...programsInTodo(before)];
  return programsInTodo(after).every((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}
