interface NamedSkill {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly source: string;
}

/**
 * The skills that a name may mean, the one that it does mean first: a person's own before the project's, in each the
 * name before other names, and then in the order that they were found in. So no workspace takes a name away from a
 * skill of the person's.
 */
export function byPrecedence<T extends NamedSkill>(name: string, skills: readonly T[]): readonly T[] {
  const rankOf = (skill: T): number | undefined => {
    const rank = skill.name === name ? 0 : skill.aliases.includes(name) ? 1 : undefined;
    return rank === undefined ? undefined : rank + (skill.source === "user" ? 0 : 2);
  };
  return skills
    .flatMap((skill) => {
      const rank = rankOf(skill);
      return rank === undefined ? [] : [{ skill, rank }];
    })
    .sort((one, other) => one.rank - other.rank)
    .map(({ skill }) => skill);
}
