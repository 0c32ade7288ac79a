import { expect, test } from "vitest";
import { scratchWatch } from "../../../../../test/support/scratch-watch.ts";

/** One name of each shape that the table has: a name, a beginning, a folder, names that follow each other. */
// oxfmt-ignore
const NAMES = ["atlantis.yaml", "netlify.toml", "pylintrc", ".qmail-list", ".hkrc.pkl", "$irbrc", ".greptile/rules.md", ".spacelift/config.yml", "_darcs/prefs/defaults", ".pijul/config", ".config/hk/config.pkl", ".github/lsp.json"] as const;

/** Ways in which a file comes to its place. `$n` is the name, `$d` its folder. */
// oxfmt-ignore
const DOORS = [
  { title: "written",                   script: 'mkdir -p "$d"; echo evil > "$n"' },
  { title: "written by tee",            script: 'mkdir -p "$d"; echo evil | tee "$n" >/dev/null' },
  { title: "copied",                    script: 'mkdir -p "$d"; cp plain.txt "$n"' },
  { title: "renamed",                   script: 'mkdir -p "$d"; echo evil > t; mv t "$n"' },
  { title: "created as a link",            script: 'mkdir -p "$d"; ln -s /bin/true "$n"' },
  { title: "created as a hard link",     script: 'mkdir -p "$d"; ln plain.txt "$n"' },
  { title: "extracted from an archive", script: 'mkdir -p "t/$d"; echo evil > "t/$n"; tar -cf t.tar -C t .; rm -r t; tar -xf t.tar; rm t.tar' },
  { title: "moved with its folder",     script: 'mkdir -p "t/$d"; echo evil > "t/$n"; mv t moved' },
] as const;

for (const { title, script } of DOORS) {
  test(`run-later files are set aside, however they were created: ${title}`, async () => {
    const { make, run, names } = await scratchWatch();
    await make({ "plain.txt": "plain\n" });
    const before = names().filter((name) => !name.endsWith("/"));
    const scriptOf = (name: string): string => `n='${name}'; d=$(dirname "$n"); ${script}`;
    const wanted = NAMES.map((name) => (title === "moved with its folder" ? `moved/${name}` : name));
    for (const [at, name] of NAMES.entries()) {
      const { taken_back } = await run(scriptOf(name));
      expect(
        taken_back.map(({ path }) => path),
        name,
      ).toContain(wanted[at]);
      await run("rm -rf moved");
    }
    expect(names().filter((name) => before.includes(name))).toEqual(before);
    for (const name of wanted) expect(names()).not.toContain(name);
  });
}
