import type { Random } from "../kill/random.ts";
import { BY_GIT } from "./git-commands.ts";

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
  "linked/one",
  "linked/two",
  "src/three",
  "sparse.img",
  "setuid",
  "long*.txt",
  "$'odd/new\\nline'",
  "$'odd/\\xff\\xfe'",
  "locked/in.txt",
  "nested/g.txt",
  "tree/a.txt",
];
const FOLDERS = [
  "src",
  "src/deep",
  "docs",
  "empty",
  "build",
  "'with space'",
  "new/folder",
  "linked",
  "odd",
  "locked",
  "sticky",
  "nested",
  "tree",
  "bare.git",
];
const NEW = [
  "n.txt",
  "src/n.ts",
  "new/n.txt",
  "'odd \" name'",
  "-n",
  "$'line\\nend'",
  "$'\\xff\\xfe'",
  "A.TXT",
  "sticky/n",
  "$(printf 'n%.0s' {1..255})",
];
const MODES = [
  "600",
  "644",
  "755",
  "700",
  "444",
  "000",
  "111",
  "u+x",
  "a-w",
  "g+s",
  "u+s",
  "+t",
  "4755",
  "1777",
  "a-x",
];

type Make = (random: Random) => string;

const file: Make = ({ pick }) => pick(FILES);
const folder: Make = ({ pick }) => pick(FOLDERS);
const fresh: Make = ({ pick }) => pick(NEW);
const any: Make = (random) => random.pick([file, folder, () => "link", () => "dangling", () => "tofolder"])(random);

/** By hand: one program each. Many fail half way, as commands do. */
// oxfmt-ignore
const BY_HAND: readonly Make[] = [
  (r) => `echo new > ${file(r)}`,
  (r) => `echo more >> ${file(r)}`,
  (r) => `echo new > ${fresh(r)}`,
  (r) => `mkdir -p new/folder; cp -p ${file(r)} new/folder/`,
  (r) => `: > ${file(r)}`,
  (r) => `rm -f ${file(r)}`,
  (r) => `rm -rf ${any(r)}`,
  () => `rm -rf src docs empty build`,
  () => `rm -rf ./* 2>/dev/null; true`,
  () => `chmod -R u+rwx locked; rm -rf locked`,
  () => `rmdir empty/inner empty`,
  (r) => `mv ${file(r)} ${fresh(r)}`,
  (r) => `mv ${folder(r)} moved`,
  (r) => `mv ${any(r)} /tmp/gone`,
  (r) => `mv ${file(r)} ${file(r)}`,
  (r) => `mv -T --exchange ${file(r)} ${file(r)}`,
  () => `mv a.txt A.txt; mv src SRC`,
  () => `mv src x; mv docs src; mv x docs`,
  (r) => `cp -a ${folder(r)} copy`,
  (r) => `cp -al ${folder(r)} hardcopy`,
  (r) => `ln -s ${any(r)} newlink`,
  () => `ln -sfn b.txt link`,
  () => `ln -sfn docs tofolder`,
  (r) => `ln -f ${file(r)} hard`,
  (r) => `ln -f ${file(r)} ${file(r)}`,
  (r) => `ln -f ${file(r)} hard; rm -f ${file(r)}; echo both >> hard`,
  (r) => `ln -sf ../outside ${file(r)}`,
  () => `rm -rf src; ln -s docs src`,
  () => `rm -rf docs; echo file > docs`,
  () => `rm -f a.txt; mkdir -p a.txt/inner; echo x > a.txt/inner/x`,
  () => `rm -f link; mkdir link; rm -rf sticky; ln -s nowhere sticky`,
  (r) => `chmod ${r.pick(MODES)} ${any(r)}`,
  (r) => `chmod -R ${r.pick(MODES)} ${folder(r)}`,
  () => `chmod -R 000 . 2>/dev/null; true`,
  (r) => `touch ${any(r)}`,
  (r) => `echo same >> ${file(r)}; touch -d 2001-01-01 ${file(r)}`,
  (r) => `truncate -s ${r.pick([0, 1, 100, 100_000, "1M", "200M", "20G"])} ${file(r)}`,
  (r) => `truncate -s ${r.pick(["1M", "100M", "8G"])} ${fresh(r)}`,
  (r) => `dd if=/dev/zero of=${file(r)} bs=1k count=${1 + r.below(50)} conv=notrunc status=none`,
  (r) => `dd if=/dev/zero of=${fresh(r)} bs=1M count=70 status=none`,
  (r) => `fallocate -p -o 0 -l 4096 ${file(r)}`,
  (r) => `install -m ${r.pick(["600", "755"])} ${file(r)} installed`,
  () => `mkfifo pipe`,
  () => `mkfifo -m 600 src/pipe; rm -f src/c.ts`,
  (r) => `exec 3>${fresh(r)}; echo held >&3; rm -f a.txt`,
  (r) => `(cd ${folder(r)} && rm -rf ./* && echo gone > left)`,
  () => `for f in src/*; do mv "$f" "$f.bak"; done`,
  () => `d=deep; for i in {1..40}; do mkdir -p $d; echo $i > $d/f; d=$d/deep; done`,
  (r) => `setfacl -m u:${r.pick([0, 65534])}:rw ${file(r)}; setfattr -n user.note -v x ${file(r)}`,
];

/** Programs that rewrite, pack or wipe many files. */
// oxfmt-ignore
const BY_PROGRAMS: readonly Make[] = [
  (r) => `sed -i 's/[a-m]/X/g' ${file(r)}`,
  (r) => `sed -i.bak 's/[a-m]/X/g' ${file(r)} ${file(r)}`,
  (r) => `perl -pi -e 's/e/E/' ${file(r)} ${file(r)}`,
  () => `perl -MFile::Path -e 'File::Path::remove_tree("src", "docs", "linked")'`,
  () => `perl -e 'for (glob("*.txt")) { open F, ">", $_; print F "wiped"; close F; chmod 0400, $_ }'`,
  (r) => `python3 -c "import os,shutil; shutil.rmtree('${r.pick(["src", "docs", "build", "nested", "linked"])}')"`,
  () => `python3 -c "import os; [os.remove(os.path.join(d,f)) for d,_,fs in os.walk('.') if '.git' not in d for f in fs]"`,
  () => `python3 -c "import os; os.rename('src','lib'); open('lib/new','w').write('x')"`,
  () => `python3 -c "import os; os.link('a.txt','x'); os.replace('b.txt','a.txt'); os.replace('x','b.txt')"`,
  () => `python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.bind('src/sock')"; rm -f src/c.ts`,
  () => `python3 -c "import os; os.chmod('docs',0); os.chmod('src/deep',0o111); os.mkdir('n',0); open('m','w').close(); os.chmod('m',0)"`,
  () => `python3 - <<'E'\nimport pathlib\nfor p in pathlib.Path('.').rglob('*.ts'):\n  p.write_text('wiped')\nE`,
  () => `node -e 'const fs=require("fs"); for (const n of ["src","docs","odd"]) fs.rmSync(n,{recursive:true,force:true}); fs.writeFileSync("src","x")'`,
  () => `node -e 'const fs=require("fs"); for (const n of fs.readdirSync(".")) if (n!==".git") fs.renameSync(n,"moved-"+n)'`,
  (r) => `find . -name '*.${r.pick(["ts", "md", "txt"])}' -not -path './.git/*' -delete`,
  (r) => `find ${folder(r)} -type f -exec sh -c 'echo x >> "$1"' _ {} \\;`,
  () => `find . -type d -empty -delete; find . -type l -delete`,
  (r) => `gzip -${r.pick(["r", "rf", "rkf"])} ${r.pick([".", "src", "docs", "linked"])}`,
  (r) => `tar czf archive.tgz ${folder(r)}`,
  (r) => `tar cf archive.tar --remove-files ${folder(r)}`,
  (r) => `tar cf - ${folder(r)} | tar xf - -C empty`,
  (r) => `tar cf /tmp/x.tar ${folder(r)}; rm -rf ${folder(r)}; tar xf /tmp/x.tar`,
  (r) => `zip -qrm archive.zip ${folder(r)} ${file(r)}`,
  (r) => `rsync -a --delete ${folder(r)}/ ${folder(r)}/`,
  (r) => `rsync -aH --delete --remove-source-files ${folder(r)}/ copied/`,
  () => `split -b 100 data.bin part.; rm data.bin`,
  (r) => `shuf -o ${file(r)} ${file(r)}`,
  (r) => `sort -o ${file(r)} ${file(r)}`,
  (r) => `patch -s -p0 <<'E'\n--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-changed\n+patched\nE\nmv a.txt ${fresh(r)}`,
  (r) => `shred -un1 ${file(r)}`,
];

const COMMANDS: readonly Make[] = [
  ...BY_HAND,
  ...BY_PROGRAMS,
  ...BY_GIT.map(
    (text): Make =>
      () =>
        text,
  ),
];

/** One command, or two in a row. */
export function makeCommand(random: Random): string {
  const one = random.pick(COMMANDS)(random);
  if (!random.percent(30)) return one;
  return `${one}${random.pick(["; ", " && "])}${random.pick(COMMANDS)(random)}`;
}
