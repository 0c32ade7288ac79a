import type { WorkspaceContext } from "./facts.ts";

/** The tools and commands that skills allow: a part of the context of every decision. */
export type SkillLimits = Pick<WorkspaceContext, "skill_names" | "skill_tools" | "skill_commands">;

type Commands = readonly (readonly string[])[];

/** What both allow. A second active skill can only narrow further. */
export function narrowFurther(one: SkillLimits, other: SkillLimits): SkillLimits {
  const names = [...new Set([...(one.skill_names ?? []), ...(other.skill_names ?? [])])];
  const tools = common(one.skill_tools, other.skill_tools, (left, right) =>
    left.filter((each) => right.includes(each)),
  );
  const commands = common(one.skill_commands, other.skill_commands, commonCommands);
  return {
    ...(names.length === 0 ? {} : { skill_names: names }),
    ...(tools === undefined ? {} : { skill_tools: tools }),
    ...(commands === undefined ? {} : { skill_commands: commands }),
  };
}

/** Undefined allows everything. */
function common<T>(one: T | undefined, other: T | undefined, both: (one: T, other: T) => T): T | undefined {
  return one === undefined || other === undefined ? (one ?? other) : both(one, other);
}

/** Each list contains first words: if one extends the other, both allow the longer one. */
function commonCommands(one: Commands, other: Commands): Commands {
  return one.flatMap((left) =>
    other.flatMap((right) => {
      const [short, long] = left.length <= right.length ? [left, right] : [right, left];
      return short.every((word, index) => word === long[index]) ? [long] : [];
    }),
  );
}
