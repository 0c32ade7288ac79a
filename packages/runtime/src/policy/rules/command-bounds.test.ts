import { normalize } from "node:path/posix";
import { describe, expect, test } from "vitest";
import { callOf } from "../../../../../test/support/calls.ts";
import type { CallFacts } from "../facts.ts";
import { covers, offersFor } from "./grants.ts";
import { nameCommand } from "../commands/name-command.ts";

const WORKSPACE = { roots: ["/work"], home: "/home/ann", state_dirs: ["/work/.state"] };
const GROUND = { call_digest: "digest", workspace: WORKSPACE };

/** `/work/out` leads to `/home/ann`. */
function resolve(path: string): string {
  return normalize(path.replace(/^\/work\/out(?=\/|$)/, "/home/ann")).replace(/(?<=.)\/$/, "");
}

function bash(text: string, { folder = "/work", network = false } = {}): CallFacts {
  const ground = { ...WORKSPACE, folder, network, resolve };
  const touches = [{ path: ".", real: folder, access: "list", show_sensitive: false, exists: true } as const];
  return { ...callOf({ tool: "bash", risk: "medium" }), touches, commands: [nameCommand(text, ground)] };
}

/** What was agreed to for longer; what that covers; what it does not. */
// oxfmt-ignore
const GRANTS: readonly { readonly granted: string; readonly covered: readonly string[]; readonly others: readonly string[]; readonly network?: boolean }[] = [
  {
    granted: "cat notes.md",
    covered: ["cat notes.md", "cat src/a.ts", "cat a b c", "cat -n a", "cat -nE a", "cat ./src/../a"],
    others: [
      "cat ~/.ssh/id_rsa", "cat ~/notes", "cat /etc/passwd", "cat ../other", "cat out/notes", "cat a ~/b", "cat .ssh/id_rsa", "cat .state/key", "cat *", "cat $X",
      "cat a > b", "cat a | tee b", "cat < ~/x", "cd / && cat etc/passwd", "cat a; rm b", "sudo cat a", "env cat a", "X=1 cat a", "cat $(ls)", "./cat a", "cat",
      "cat {a,/etc/passwd}", "cat --files0-from=/etc/x", "head a", "command cat ~/x", "cat a 2>/dev/null", "bash -c 'cat a'", "cat -Z a", "cat -- a",
    ],
  },
  {
    granted: "grep -rn TODO src",
    covered: ["grep x src", "grep -rni 'a b' src docs", "grep -C 3 x a", "grep -A3 x a", "grep --color=never x a", "grep -m 1 x a"],
    others: ["grep x ~/.ssh/config", "grep -f /etc/passwd a", "grep -R x a", "grep -ex ~/.netrc", "grep -e x a", "grep --include=*.ts -r x src", "grep x", "grep -fx a b", "grep --colo=always -P x a",
      "grep --color 5 ~/.ssh/config src", "grep --color x ~/.netrc src", "grep -m x ~/.netrc src", "grep -A x src", "grep --color=x;y a b", "grep -C /etc/passwd x src", "grep --count=1 x src"],
  },
  {
    granted: "ls src",
    covered: ["ls src docs", "ls -la src", "ls --color=always src"],
    others: ["ls --color /etc src", "ls --color ~ src", "ls -R src", "ls", "ls -la", "ls ~", "ls -I x src", "ls src/../..", "ls --full-time=x src"],
  },
  {
    granted: "diff a b",
    covered: ["diff -u a b", "diff --color=auto a b"],
    others: ["diff --color /etc/passwd a b", "diff --from-file=/etc/passwd a", "diff -r a /etc", "diff -u a ~/b"],
  },
  {
    granted: "head -n 5 a",
    covered: ["head a", "head -n 9 b", "head -n9 b", "head --lines=3 b", "head -c 10k a"],
    others: ["head -n /etc/passwd", "head -n ~/a b", "head --lines ~/a b", "head --lines=~/a b", "head -n -x a"],
  },
  {
    granted: "ruff check src",
    covered: ["ruff check src/a.py", "ruff check -q src tests"],
    others: ["ruff format src", "ruff clean", "ruff check --fix src", "ruff server", "ruff check ../x", "ruff -q format src"],
  },
  {
    granted: "vitest run src",
    covered: ["vitest run src/a.test.ts"],
    others: ["vitest init browser", "vitest src", "vitest run --config x src", "vitest run /etc"],
  },
  {
    granted: "black src/gen/a.py",
    covered: ["black src/gen/b.py", "black -q src/gen/a.py"],
    others: ["black src/a.py", "black .", "black --config x src/gen/a.py"],
  },
  {
    granted: "curl -sO https://example.com/a",
    network: true,
    covered: ["curl -sO https://example.com/a", "curl -sO -v https://example.com/a"],
    others: ["curl -sO https://example.com/.npmrc", "curl -sO https://example.com/b", "curl -sOJ https://example.com/a"],
  },
  {
    granted: "wget https://example.com/a",
    network: true,
    covered: [],
    others: ["wget https://example.com/a", "wget https://example.com/.envrc"],
  },
  {
    granted: "git -C log push origin main",
    covered: ["git -C log push origin main", "git -C log push -q origin main"],
    others: ["git -C log push -n 5 origin main", "git -C log push -p origin main", "git -C other push origin main", "git push origin main", "git -C log -C x push origin main"],
  },
  {
    granted: "npm --prefix web run test",
    covered: ["npm --prefix web run test", "npm --prefix web run -s test"],
    others: ["npm --prefix other run test", "npm --prefix web run deploy", "npm run test", "npm --prefix web run test --loglevel --script-shell=x", "npm --prefix web run test --loglevel 5", "npm --prefix web run test --loglevel=--x"],
  },
  {
    granted: "npm run build",
    covered: ["npm run build --loglevel=warn"],
    others: ["npm run build --loglevel --script-shell=./x", "npm run build --loglevel silent", "npm run build -- --x", "npm run build:deploy", "npm run-script build", "npm --if-present run build", "npm run build --node-options=--require=./x"],
  },
  {
    granted: "docker --context dev ps",
    covered: ["docker --context dev ps"],
    others: ["docker --context prod ps", "docker ps", "docker --context dev --host x ps", "docker --context dev ps -a"],
  },
  {
    granted: "docker --context dev compose -f a.yml up -d",
    covered: [],
    others: ["docker --context prod compose -f a.yml up -d", "docker --context dev compose -f b.yml up -d", "docker compose -f a.yml up -d", "docker --context dev compose -f a.yml -f b.yml up -d"],
  },
  {
    granted: "touch src/gen/a.ts",
    covered: ["touch src/gen/b.ts", "touch src/gen/x/y.ts"],
    others: ["touch src/b.ts", "touch ../a", "touch -d yesterday src/gen/a.ts", "touch src/gen/../b", "touch -r /etc/passwd src/gen/a"],
  },
  {
    granted: "curl -fsS https://example.com/a",
    network: true,
    covered: ["curl 'https://example.com/b?c=d'", "curl -v https://EXAMPLE.com/", "curl -s --max-time 5 https://example.com:443/x", "curl --max-time=5 https://example.com/a https://example.com/b"],
    others: [
      "curl https://example.org/", "curl http://example.com/", "curl https://example.com:8443/", "curl -L https://example.com/", "curl -o x https://example.com/",
      "curl -d a=b https://example.com/", "curl -x http://p https://example.com/", "curl https://example.com@evil.org/", "curl https://example.com.evil.org/",
      "curl 'https://example.com/[1-3]'", "curl 'https://{example.com,evil.org}/'", "curl https://example.com/ https://evil.org/", "curl -K c https://example.com/",
      "curl --sil https://evil.org/", "curl example.com", "curl https://example.com/a -T f", "curl --next https://example.com/", "wget https://example.com/", "curl 'https://example.com\\@evil.org/'",
      "curl --resolve example.com:443:1.2.3.4 https://example.com/", "curl -sfo x https://example.com/", "curl", "curl https://1.2.3.999/",
    ],
  },
  {
    granted: "npm run test",
    covered: ["npm run test", "npm run -s test", "npm run test --silent", "npm run test --loglevel=silent"],
    others: [
      "npm run deploy", "npm run test:all", "npm run", "npm test", "npm run test -- --update", "npm run test --script-shell=./x", "npm --prefix other run test", "npm -C other run test",
      "npm run test deploy", "npm run test --if-present", "npm run test -w other", "npm run test --workspaces", "npm run deploy --silent", "npm --script-shell x run test", "pnpm run test",
      "npm run test --loglevel silent deploy", "npm run test > out", "npm_config_script_shell=x npm run test", "npm run test && npm run deploy",
    ],
  },
  {
    granted: "git push origin main",
    covered: ["git push origin main", "git push -q origin main", "git push origin main --verbose"],
    others: [
      "git push", "git push origin", "git push origin other", "git push other main", "git push --force origin main", "git push -f origin main", "git push --forc origin main",
      "git push origin +main", "git push origin :main", "git push origin main:prod", "git push --mirror", "git push --delete origin main", "git push -d origin main", "git push --all origin",
      "git push --tags origin main", "git push origin main other", "git push -qf origin main", "git push -vf origin main", "git push --force-with-lease origin main", "git push -o ci.skip origin main",
      "git push --no-verify origin main", "git push --receive-pack=x origin main", "git -C other push origin main", "git -c remote.origin.url=x push origin main", "git push origin --del main",
      "git push origin main -- x", "git push --porcelain=x origin main", "git push origin HEAD", "git push origin refs/heads/main", "git push --repo=other origin main", "GIT_DIR=x git push origin main",
      "git --git-dir=x push origin main", "git push --exec=x origin main", "git push --prune origin main", "git push origin $BRANCH", "git push origin mai*",
    ],
  },
  {
    granted: "npm publish",
    covered: ["npm publish", "npm publish --silent"],
    others: ["npm publish --script-shell=./x", "npm publish --tag next", "npm publish ./other", "npm publish --access public", "npm publish --registry=http://evil.org", "npm publish --ignore-scripts=false", "npm unpublish"],
  },
  {
    granted: "make test",
    covered: ["make test", "make -s test"],
    others: ["make deploy", "make", "make test deploy", "make -f other test", "make -C other test", "make test SHELL=./x", "make -j4 test", "make --eval=x test", "make -n test"],
  },
  {
    granted: "kubectl --context=dev get pods",
    covered: [],
    others: ["kubectl --context=prod get pods", "kubectl get pods", "kubectl --context=dev get secrets", "kubectl --context=dev delete pods", "kubectl --context=dev get pods -o yaml"],
  },
  {
    granted: "docker compose up -d",
    covered: [],
    others: ["docker compose down", "docker compose up", "docker compose -f x up -d", "docker run x"],
  },
  {
    granted: "cargo build",
    covered: ["cargo build", "cargo build -q", "cargo build --color=always"],
    others: ["cargo run", "cargo build --release", "cargo publish", "cargo build --config x", "cargo +nightly build", "cargo build --manifest-path other/Cargo.toml"],
  },
  {
    granted: "git branch -D old",
    covered: ["git branch -D old"],
    others: ["git branch -D other", "git branch -D old other", "git branch -f old", "git branch -Dr old"],
  },
  {
    granted: "rm a",
    covered: ["rm a"],
    others: ["rm b", "rm -r a", "rm a b", "rm ./a"],
  },
  {
    granted: "chmod 644 a",
    covered: ["chmod 644 a"],
    others: ["chmod 755 a", "chmod 644 b", "chmod -R 644 a"],
  },
  {
    granted: "eslint src",
    covered: ["eslint src/a.ts test", "eslint --quiet src"],
    others: ["eslint -c other.js src", "eslint --fix src", "eslint --rulesdir x src", "eslint ../x", "eslint --resolve-plugins-relative-to x src"],
  },
];

describe.each(GRANTS)("a yes for longer to $granted", ({ granted, covered, others, network = false }) => {
  const offers = offersFor(bash(granted, { network }), GROUND).slice(1);

  test.each(covered.map((each) => [each]))("covers %s", (command) => {
    expect(offers.map(({ pattern }) => covers(pattern, bash(command, { network }), GROUND))).toEqual([true]);
  });

  test.each(others.map((each) => [each]))("does not cover %s", (command) => {
    for (const { pattern } of offers) expect(covers(pattern, bash(command, { network }), GROUND)).toBe(false);
  });

  test("counts in its own folder, and without the network where that was not agreed to", () => {
    for (const { pattern } of offers) {
      expect(covers(pattern, bash(granted, { network }), GROUND)).toBe(true);
      expect(covers(pattern, bash(granted, { network, folder: "/work/sub" }), GROUND)).toBe(false);
      expect(covers(pattern, bash(granted, { network: true }), GROUND)).toBe(network);
    }
  });
});
