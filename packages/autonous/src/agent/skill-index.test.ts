import { expect, test } from "vitest";
import { INDEX_BYTES, skillLines } from "./skill-index.ts";

const many = (count: number, description: string) =>
  Array.from({ length: count }, (_, at) => ({ name: `skill-${at}`, description }));

test("skills are listed with their descriptions, in the order they were found", () => {
  const skills = [
    { name: "deploy", description: "Deploys\nthe \u001b[2Jsite" },
    { name: "apply", description: "Applies it" },
  ];
  expect(skillLines({ skills })).toEqual([
    expect.stringMatching(/read_skill/),
    "- deploy: Deploys the \\e[2Jsite",
    "- apply: Applies it",
  ]);
  expect(skillLines({ skills })).toEqual(skillLines({ skills }));
});

test("the skill that the user named comes first, even without an index", () => {
  expect(skillLines({ skill: "deploy" })).toEqual([
    'The user named the skill "deploy": read it with read_skill and follow it.',
  ]);
});

test("long descriptions are truncated after a sentence or a word, short ones stay, and all names are listed", () => {
  const skills = [
    { name: "short", description: "Fits." },
    ...many(16, `Does one thing. ${"Use this skill whenever words are long. ".repeat(25)}`),
  ];
  const [, ...lines] = skillLines({ skills });
  expect(lines).toHaveLength(17);
  expect(lines[0]).toBe("- short: Fits.");
  for (const line of lines.slice(1)) expect(line).toMatch(/^- skill-\d+: Does one thing\. .*\w\.? ?…$/);
  expect(Buffer.byteLength(lines.join("\n"))).toBeLessThanOrEqual(INDEX_BYTES);
});

// oxfmt-ignore
const COUNTS = [
  { count: 0,   says: /^$/ },
  { count: 40,  says: /- skill-39: / },
  { count: 90,  says: /^skill-0, skill-1, .*, skill-89$/m },
  { count: 900, says: /^skill-0, .* and \d+ more$/m },
] as const;

for (const { count, says } of COUNTS) {
  test(`an index of ${count} skills stays within its budget`, () => {
    const text = skillLines({ skills: many(count, "wörter ohne ende ".repeat(60)) })
      .slice(1)
      .join("\n");
    expect(text).toMatch(says);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(INDEX_BYTES + 20);
  });
}
