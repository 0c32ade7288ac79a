import type { Random } from "../kill/random.ts";

const FILES = [
  "a.txt",
  "b.txt",
  "src/c.ts",
  "src/deep/d.ts",
  "docs/e.md",
  "'with space/f g.txt'",
  "é.txt",
  "data.bin",
  "run.sh",
  "untracked.txt",
  "build/out.js",
];
const FOLDERS = ["src", "src/deep", "docs", "empty", "build", "'with space'", "new/folder"];
const NEW = ["n.txt", "src/n.ts", "new/n.txt", "'odd \" name'", "-n", "$'line\\nend'", "$'\\xff\\xfe'"];
const MODES = ["600", "644", "755", "700", "444", "000", "u+x", "a-w", "g+s"];

type Make = (random: Random) => string;

const file: Make = ({ pick }) => pick(FILES);
const folder: Make = ({ pick }) => pick(FOLDERS);
const fresh: Make = ({ pick }) => pick(NEW);
const any: Make = (random) => random.pick([file, folder, () => "link", () => "dangling"])(random);

/** What changes files: by hand, by archivers, by scripts, by git. Many fail half way, as commands do. */
// oxfmt-ignore
const COMMANDS: readonly Make[] = [
  (r) => `echo new > ${file(r)}`,
  (r) => `echo more >> ${file(r)}`,
  (r) => `echo new > ${fresh(r)}`,
  (r) => `mkdir -p new/folder; cp -p ${file(r)} new/folder/`,
  (r) => `: > ${file(r)}`,
  (r) => `rm -f ${file(r)}`,
  (r) => `rm -rf ${any(r)}`,
  () => `rm -rf src docs empty build`,
  () => `rmdir empty/inner empty`,
  (r) => `mv ${file(r)} ${fresh(r)}`,
  (r) => `mv ${folder(r)} moved`,
  (r) => `mv ${any(r)} /tmp/`,
  (r) => `mv ${file(r)} ${file(r)}`,
  (r) => `cp -a ${folder(r)} copy`,
  (r) => `ln -s ${any(r)} newlink`,
  () => `ln -sfn b.txt link`,
  (r) => `ln -f ${file(r)} hard`,
  (r) => `ln -sf ../outside ${file(r)}`,
  () => `rm -rf src; ln -s docs src`,
  () => `rm -rf docs; echo file > docs`,
  () => `rm -f a.txt; mkdir -p a.txt/inner; echo x > a.txt/inner/x`,
  (r) => `chmod ${r.pick(MODES)} ${any(r)}`,
  (r) => `chmod -R ${r.pick(MODES)} ${folder(r)}`,
  (r) => `touch ${any(r)}`,
  (r) => `truncate -s ${r.pick([0, 1, 100, 100_000])} ${file(r)}`,
  (r) => `dd if=/dev/zero of=${file(r)} bs=1k count=${1 + r.below(50)} conv=notrunc status=none`,
  (r) => `sed -i 's/[a-m]/X/g' ${file(r)}`,
  (r) => `perl -pi -e 's/e/E/' ${file(r)} ${file(r)}`,
  (r) => `python3 -c "import os,shutil; shutil.rmtree('${r.pick(["src", "docs", "build"])}')"`,
  () => `python3 -c "import os; [os.remove(os.path.join(d,f)) for d,_,fs in os.walk('.') if '.git' not in d for f in fs]"`,
  () => `python3 -c "import os; os.rename('src','lib'); open('lib/new','w').write('x')"`,
  () => `python3 - <<'E'\nimport pathlib\nfor p in pathlib.Path('.').rglob('*.ts'):\n  p.write_text('wiped')\nE`,
  (r) => `find . -name '*.${r.pick(["ts", "md", "txt"])}' -not -path './.git/*' -delete`,
  (r) => `find ${folder(r)} -type f -exec sh -c 'echo x >> "$1"' _ {} \\;`,
  (r) => `gzip -${r.pick(["r", "rf", "rkf"])} ${r.pick([".", "src", "docs"])}`,
  (r) => `tar czf archive.tgz ${folder(r)}`,
  (r) => `tar cf archive.tar --remove-files ${folder(r)}`,
  (r) => `tar cf - ${folder(r)} | tar xf - -C empty`,
  () => `split -b 100 data.bin part.; rm data.bin`,
  (r) => `shuf -o ${file(r)} ${file(r)}`,
  (r) => `install -m ${r.pick(["600", "755"])} ${file(r)} installed`,
  () => `mkfifo pipe`,
  (r) => `exec 3>${fresh(r)}; echo held >&3; rm -f a.txt`,
  (r) => `(cd ${folder(r)} && rm -rf ./* && echo gone > left)`,
  () => `for f in src/*; do mv "$f" "$f.bak"; done`,
  () => `git add -A`,
  () => `echo x >> a.txt; git commit -qam three`,
  () => `git commit -q --amend --no-edit --allow-empty -m amended`,
  () => `git checkout -q other`,
  () => `git checkout -q -b topic; echo t > t.txt; git add t.txt; git commit -qm t`,
  () => `git branch -D other`,
  () => `git reset -q --hard HEAD~1`,
  () => `git rebase -q other`,
  () => `git merge -q --no-ff other -m merged`,
  () => `git stash -q -u`,
  () => `git stash -q -u; git stash drop -q`,
  () => `git clean -qfdx`,
  (r) => `git rm -rq ${r.pick(["src", "docs", "a.txt"])}`,
  (r) => `git mv ${r.pick(["src", "docs"])} renamed`,
  () => `git tag v1; git tag -d v1; git tag v2`,
  () => `git gc -q --prune=now`,
  () => `git reflog expire --expire=now --all; git gc -q --prune=now`,
  () => `git worktree add -q ../root/wt other`,
  () => `git restore --source=HEAD~1 a.txt`,
  () => `git switch -q --orphan alone`,
  (r) => `rm -f .git/${r.pick(["HEAD", "index", "ORIG_HEAD", "logs/HEAD", "refs/heads/other"])}`,
  () => `python3 -c "import shutil; shutil.rmtree('.git', ignore_errors=True)"`,
  () => `python3 -c "import shutil; shutil.rmtree('.git/objects', ignore_errors=True)"`,
  () => `mv .git/objects .git/gone; mkdir .git/objects`,
];

/** One command, or two in a row. */
export function makeCommand(random: Random): string {
  const one = random.pick(COMMANDS)(random);
  if (!random.percent(30)) return one;
  return `${one}${random.pick(["; ", " && "])}${random.pick(COMMANDS)(random)}`;
}
