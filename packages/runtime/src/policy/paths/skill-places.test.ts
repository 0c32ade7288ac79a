import fc from "fast-check";
import { expect, test } from "vitest";
import { isInside } from "../../paths/inside.ts";
import { judgePlace } from "./check-path.ts";
import type { CallFacts, ResolvedTouch } from "../facts.ts";
import { compilePath } from "../rules/rule-conditions.ts";
import { isReadAccess, placesOf, skillFolderAround } from "./skill-places.ts";

const WORKSPACE = { roots: ["/work"], home: "/home/me", state_dirs: ["/home/me/.config/autonous", "/state"] };
const SKILLS = ["/home/me/.config/autonous/skills/pdf", "/home/me/.claude/skills/pdf", "/home/me"] as const;
const ACCESSES = ["read", "list", "write", "delete"] as const;

test.each(SKILLS)(
  "in the folder of a skill a call may look at what is not sensitive, and nothing else: %s",
  (skill) => {
    const base = fc.constantFrom("/work", skill, "/home/me", "/home/me/.config/autonous", "/state", "/", `${skill}x`);
    const name = fc.constantFrom("a.md", "references", "id_rsa", ".ssh", "config.json", "..", "trust", ".aws");
    const path = fc.tuple(base, fc.array(name, { maxLength: 3 })).map(([first, rest]) => [first, ...rest].join("/"));
    fc.assert(
      fc.property(path, fc.constantFrom(...ACCESSES), (real, access) => {
        const isOpen = judgePlace(real, placesOf({ access, skill_folder: skill }, WORKSPACE)) === undefined;
        if (!isReadAccess(access)) {
          expect(isOpen).toBe(judgePlace(real, WORKSPACE) === undefined);
          return;
        }
        if (isOpen) expect(isInside(skill, real)).toBe(true);
        expect(isOpen && /\.\.|id_rsa|^\/home\/me\/\.(?:ssh|aws)/.test(real)).toBe(false);
        const isConfiguration = isInside("/home/me/.config/autonous", real) && !skill.includes(".config");
        expect(isOpen && isConfiguration).toBe(false);
      }),
      { numRuns: 1000 },
    );
    const places = placesOf({ access: "read", skill_folder: skill }, WORKSPACE);
    expect(judgePlace(`${skill}/references/a.md`, places)).toBeUndefined();
  },
);

test("without a skill a call is judged by the workspace as it is", () => {
  expect(placesOf({ access: "read" }, WORKSPACE)).toBe(WORKSPACE);
  expect(placesOf({ access: "write", skill_folder: SKILLS[0] }, WORKSPACE)).toBe(WORKSPACE);
});

const LOOK = {
  real: `${SKILLS[1]}/references/a.md`,
  access: "read",
  exists: true,
  skill_folder: SKILLS[1],
} as ResolvedTouch;

test("the folder of a skill is found for the paths in it, and for no others", () => {
  const { skill_folder: _, ...plain } = LOOK;
  expect(skillFolderAround(`${SKILLS[1]}/b.md`, [LOOK])).toBe(SKILLS[1]);
  expect(skillFolderAround("/work/b.md", [LOOK])).toBeUndefined();
  expect(skillFolderAround(`${SKILLS[1]}/b.md`, [plain as ResolvedTouch])).toBeUndefined();
});

test("a rule with a relative path counts in the folder of a skill", () => {
  const closeness = compilePath("references/**", "deny");
  expect(closeness({ touches: [LOOK] } as unknown as CallFacts, ["/work"])).toBeTypeOf("number");
  const beside = { ...LOOK, real: `${SKILLS[1]}/a.md` };
  expect(closeness({ touches: [beside] } as unknown as CallFacts, ["/work"])).toBeUndefined();
});
