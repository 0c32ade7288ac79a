import { expect, test } from "vitest";
import { settingProblem } from "./inbox-folder.ts";

const place = { cwd: "/srv/work/app", roots: ["/srv/work", "/srv/more"] };

// oxfmt-ignore
const REFUSED = [
  { folder: "",                        says: /empty/ },
  { folder: "  ",                      says: /empty/ },
  { folder: ".",                       says: /the working folder or a root itself/ },
  { folder: "./a/..",                  says: /the working folder or a root itself/ },
  { folder: "..",                      says: /the working folder or a root itself/ },
  { folder: "/srv/more/",              says: /the working folder or a root itself/ },
  { folder: "../../x",                 says: /outside the roots/ },
  { folder: "a/../../../x",            says: /outside the roots/ },
  { folder: "/tmp/inbox",              says: /outside the roots/ },
  { folder: "/srv/workshop",           says: /outside the roots/ },
  { folder: "~",                       says: /"~" is not expanded/ },
  { folder: "~/inbox",                 says: /"~" is not expanded/ },
  { folder: "in\0box",                 says: /invisible characters/ },
  { folder: "in\nbox",                 says: /invisible characters/ },
  { folder: "in\u202Exob",             says: /invisible characters/ },
  { folder: `a/${"x".repeat(256)}`,    says: /too long/ },
] as const;

for (const { folder, says } of REFUSED)
  test(`the inbox folder ${JSON.stringify(folder).slice(0, 40)} is rejected with a hint`, () => {
    const problem = settingProblem({ ...place, folder });
    expect(problem).toMatch(says);
    expect(problem).toContain('set AUTONOUS_INBOX_FOLDER to a folder inside a root, such as "inbox"');
  });

test.each(["inbox", "a/b", "../inbox", "/srv/more/inbox", "收件箱", "..inbox"])(
  "the inbox folder %j is valid",
  (folder) => {
    expect(settingProblem({ ...place, folder })).toBeUndefined();
  },
);
