interface NamedSkill {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly source: string;
}

/**
 * The skills that a name may refer to, best match first: the user's own before the project's; within each, the name
 * before other names; then in the order in which they were found. So no workspace takes a name away from one of the
 * user's skills.
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
