import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { judgeCommands } from "../commands/check-command.ts";
import { runsLater } from "./check-path.ts";
import { RUN_LATER } from "./run-later.ts";

const ROOT = "/home/dev/project";
const GROUND = { roots: [ROOT], home: "/home/dev" };

/** Names that were found by research, each with the folder that it is looked for in. */
// oxfmt-ignore
const FOUND = [
  ".tool-versions", ".antrc", ".ant/ant.conf", ".devscripts", ".quiltrc", ".pbuilderrc", ".sbuildrc", ".gbp.conf", "debian/gbp.conf", ".git/gbp.conf", ".dput.cf",
  "_darcs/prefs/defaults", ".darcs/defaults", ".pijul/config", ".arcconfig", ".local-overcommit.yml", ".overcommit_gems.rb", "rusty-hook.toml", ".hkrc.pkl", ".config/hk.pkl", ".config/hk/config.pkl",
  ".config/user-tmpfiles.d/a.conf", ".qmail", ".qmail-default", ".fluxbox/startup", ".rhosts", ".shosts", ".k5login", ".k5users", "irb.rc", "$irbrc", ".gforthrc0", ".ycm_extra_conf.py", ".pylintrc", "pylintrc",
  "atlantis.yaml", ".spacelift/config.yml", "netlify.toml", "vercel.json", "vercel.toml", "vercel.ts", "render.yaml", "railway.json", "railway.toml", ".github/lsp.json", ".specify/scripts/bash/common.sh", ".config/muse/settings.json", ".packit.json", "packit.yaml", "packit.yml", "packit.json", ".greptile/rules.md",
] as const;

const quoted = (path: string): string => `'${path}'`;

/** Ways in which a command makes or replaces a file. */
const DOORS: readonly ((path: string) => string)[] = [
  (path) => `echo x > ${path}`,
  (path) => `echo x >> ${path}`,
  (path) => `echo x | tee ${path}`,
  (path) => `cp a ${path}`,
  (path) => `mv a ${path}`,
  (path) => `ln -s a ${path}`,
  (path) => `ln a ${path}`,
  (path) => `install -m 755 a ${path}`,
  (path) => `rsync a ${path}`,
  (path) => `dd if=a of=${path}`,
  (path) => `sed -i s/a/b/ ${path}`,
  (path) => `curl -o ${path} https://example.com`,
  (path) => `sh -c "echo x > ${path}"`,
  (path) => `rm ${path}`,
];

for (const path of FOUND) {
  test(`"${path}" runs later: at any depth, in any case, through every door`, () => {
    for (const spelling of [path, `deep/er/${path}`, path.toUpperCase(), `${path}.`, `${path}/below`]) {
      expect(runsLater(`${ROOT}/${spelling}`, GROUND), spelling).toBeTypeOf("string");
    }
    for (const door of DOORS) {
      const command = door(quoted(path));
      expect(judgeCommands(parseCommands(command), GROUND).level, command).not.toBe("everyday");
    }
  });
}

/** Of the whole machine. */
// oxfmt-ignore
const OF_MACHINE = [
  "/etc/gitconfig", "/etc/mercurial/hgrc", "/etc/environment.d/a.conf", "/etc/bash_completion.d/a", "/etc/tmpfiles.d/a.conf", "/etc/rc.d/a", "/etc/network/interfaces", "/etc/aliases", "/etc/hosts.equiv", "/etc/ssh/sshrc", "/etc/claude-code/managed-settings.json", "/etc/codex/config.toml",
] as const;

test("files of the whole machine count only at the top of it", () => {
  for (const path of OF_MACHINE) {
    expect(runsLater(path, { roots: ["/"] }), path).toBeTypeOf("string");
    expect(runsLater(`/work${path}`, { roots: ["/work"] }), path).toBeUndefined();
  }
});

/** No program reads these by itself, or they only look like a name of the table. */
// oxfmt-ignore
const NOT_READ = [
  ".local.zshrc", ".nvim.vim", ".bash_prompt", ".bash_functions", ".config/bash/a", ".kakrc", ".gptme.toml", ".vsts/a.yml", "darcs/prefs/defaults", "prefs/defaults", "pijul/config", "vercel.md", "src/render.ts", "render.yml", "netlify/functions/a.ts", "railway.ts",
  "lsp.json", "irbrc", "docs/pylintrc.md", "atlantis.tf", "specify/a.md", "qmail", ".config/hyper.js", ".github/lsp.md", "muse/settings.json", "rusty-hook.rs", ".github/pull_request_review_instructions.md",
] as const;

for (const path of NOT_READ) {
  test(`"${path}" is not read by itself`, () => {
    expect(runsLater(`${ROOT}/${path}`, GROUND)).toBeUndefined();
  });
}

test("every row says who reads it, when, and where that is documented", () => {
  for (const { paths, reader, source } of RUN_LATER) {
    expect(reader, paths[0]).toMatch(/^[\w`][^|\n]{5,}$/);
    expect(source, paths[0]).toMatch(/^[\w.][^|\n]{4,}$/);
  }
});

test("no name is in the table twice", () => {
  const names = RUN_LATER.flatMap(({ paths }) => paths.map((path) => path.toLowerCase()));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});
