import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { judgeCommands } from "./check-command.ts";
import type { CommandLevel } from "./check-command.ts";

const GROUND = { roots: ["/home/dev/project"], home: "/home/dev" };

function levelOf(command: string): CommandLevel {
  return judgeCommands(parseCommands(command), GROUND).level;
}

/** Options of programs that do something else, which name a program, a library or a text that is run. */
// oxfmt-ignore
const ASKED = [
  "sort --compress-program=sh a", "tar -I ./x -cf a b", "tar --to-command=./x -xf a", "tar --checkpoint=1 --checkpoint-action=exec=./x -cf a b", "rsync -e ./x a b", "rsync --rsh=./x a b",
  "rsync -e 'sh x' a b", "rg --pre ./x foo", "split --filter=./x a", "split --filter='sh' a", "man -P ./x ls", "man -H ./x ls", "man -C ./man.conf ls", "man --config-file=./man.conf ls",
  "zip -TT ./x -T a b", "zip -T -TT 'sh #' a b", "install -s --strip-program=./x a b", "install -s --strip-program='rm' a b", "sdiff --diff-program=./x a b", "diff3 --diff-program=./x a b c",
  "cpio --rsh-command=./x -i < a", "ack --pager=./x foo", "ag --pager ./x foo", "ag --pager='rm -rf /' foo", "bat --pager=./x a", "delta --pager=./x a", "wget -e use_askpass=./x http://a",
  "wget --execute=use_askpass=./x http://a", "wget --use-askpass=./x http://a", "aria2c --on-download-complete=./x http://a", "aria2c --on-download-complete='rm -rf /' http://a",
  "yt-dlp --exec 'rm -rf /' http://a", "yt-dlp --exec ./x http://a", "gcc -wrapper sh,-c,x a.c", "gcc -wrapper ./x a.c", "gcc -wrapper rm,-rf,/ a.c", "gcc -fplugin=./x.so a.c",
  "java -XX:OnOutOfMemoryError='rm -rf /' A", "java -XX:OnOutOfMemoryError=./x A", "gs -q -c '(%pipe%rm -rf /) (w) file' ", "gs -sOutputFile='%pipe%rm -rf /' a.ps", "gs -o '|rm -rf /' a.ps",
  "gs -dNOSAFER a.ps", "nano -s ./x a", "nano --speller='rm -rf /' a", "hg --config alias.x='!rm -rf /' x", "hg --config hooks.pre-status=./x status", "hg --config extensions.x=./x.py status",
  "svn --diff-cmd ./x diff", "svn diff --diff-cmd=./x", "svn --editor-cmd='rm -rf /' propedit x", "svn --config-option=config:tunnels:ssh=./x ls svn+ssh://a", "gpg --agent-program=./x -d a",
  "gpg --photo-viewer 'rm -rf /' --list-keys", "borg --rsh=./x list", "borg create --content-from-command a -- rm -rf /", "restic --password-command='rm -rf /' ls", "restic --password-command=./x ls",
  "mt --rsh-command=./x -f h:a status", `yq --security-enable-system-operator '.a = system("rm")' a`, `rpm -E '%{lua:os.execute("rm -rf /")}'`, "openssl req -engine ./x.so",
  "less -k x a", "fzf --preview './x {}'", "fzf --bind 'enter:execute(vim {})'", "sk -c './x {}' -i", "sk --cmd='rm -rf /' -i", "tcpdump -z ./x -w a", "dvips -R0 a", "pic -U a", "troff -U a",
  "groff -U a", "less '+!./x' a", "gsort --compress-program ./x a", "tar --rmt-command ./x -cf host:a b", "tar --checkpoint=1 --checkpoint-action exec=./x -cf a b",
  "wget -e use_askpass=./x https://x.y", "wget -e 'USE-ASKPASS = ./x' https://x.y", "scp -o KnownHostsCommand=./x a host:b", "arm-none-eabi-gcc -wrapper ./x a.c", "clang -fpass-plugin=./x.so a.c",
  "restic -o sftp.command=./x ls", "man --config-file ./man.conf ls", "groff -Tx -F ./fonts a", "curl --engine ./x.so https://x.y", "rpm --eval '%{lua:os.execute([[x]])}'", "bat --pager 'sh x' a",
  "sort --compress-prog ./x a", "tar --rmt-com ./x -cf host:a b", "tar --checkpoint=1 --checkpoint-act exec=./x -cf a b", "install --strip-prog ./x -s a b",
  "erb < x", "irb < x", "qjs -i -e 1 < x",
];

test.each(ASKED)("%s is asked for or denied: it runs what an option names", (command) => {
  expect(["opaque", "risky", "destructive"]).toContain(levelOf(command));
});

/** The same programs with what they are everyday given. */
// oxfmt-ignore
const EVERYDAY = [
  "gcc -Wall -o a a.c -lm", "java -Xmx1g -jar a.jar", "svn up", "hg diff", "man 3 printf", "man -k socket", "openssl req -new -key a -out b", "openssl dgst -sha256 a", "curl -fsSL https://x.y -o a",
  "nano +10 a.txt", "zip -r9 a.zip dist -x '*.map'", "tar czf a.tgz src", "tar --zstd -xf a.tar.zst", "tar -C out -xf a.tar", "split -l 1000 a part-", "sort -t, -k2,2n --parallel=4 a.csv",
  "rsync -av --progress src/ dst/", "less +F log", "less +/error log", "bat -p a.ts", "rg -n --hidden foo", "ack foo src", "yq '.a.b' x.yml", `yq -i '.version = "2"' x.yml`, "dpkg -l | grep x",
  "sort --compress-program=gzip a", "sort --compress-program=zstd -S 1G a", "sort -u a", "tar -I zstd -cf a.tar.zst b", "tar -I 'zstd -T0 -19' -cf a b", "tar --use-compress-program=pigz -cf a b",
  "rsync -a src/ dst/", "split --filter='gzip > $FILE.gz' a", "man -P cat ls", "rg --pre pdftotext foo", "fzf --preview 'bat {}'", "groff -man -Tascii a.1", "groff -ms a.ms", "install -m 755 a bin/a",
  "install -s -m 755 a bin/a", "sdiff a b", "wget -qO a https://x.y/z", "wget -e robots=off https://x.y", "bat --pager=less a", "bat --pager='less -R' a", "gcc -o a a.c", "go vet ./...",
  "cmake -DCMAKE_C_COMPILER_LAUNCHER=ccache .", "cmake -DCMAKE_C_COMPILER=clang -B build", "zip -T a.zip b", "sort --compress-program=gzip a", "tar -I zstd -cf a b",
  "tar -I 'zstd -19' -cf a.tar.zst b", "rg --pre=pdftotext foo", "split --filter='gzip > $FILE.gz' a", "man -P cat ls", "zip -r a.zip src", "gcc -B./tools a.c", "gs -dSAFER a.ps",
  "fzf --preview 'bat {}'", "rsync -a --exclude node_modules src/ dst/", "openssl req -engine pkcs11 -new", "java -jar a.jar", "java -XX:+UseG1GC A", "hg --config ui.color=never status", "svn diff",
  "gpg --verify a.sig", "nano a.txt", "delta --pager=never a b", "ack --pager='less -R' x", "aria2c -o a https://x.y", "restic -r repo ls latest", "erb a.erb", "tar --checkpoint -cf a b", "sort --compress-prog gzip a", "sort --compress-program 'zstd' a",
];

test.each(EVERYDAY)("%s needs no approval", (command) => {
  expect(levelOf(command)).toBe("everyday");
});
