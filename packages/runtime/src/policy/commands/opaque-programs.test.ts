import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { judgeCommands } from "./check-command.ts";
import type { CommandLevel } from "./check-command.ts";

const GROUND = { roots: ["/home/dev/project"], home: "/home/dev" };

function levelOf(command: string): CommandLevel {
  return judgeCommands(parseCommands(command), GROUND).level;
}

/**
 * A destructive command that a program is given by an option, a setting, a text of its own language, or standard input.
 */
// oxfmt-ignore
const DENIED = [
  "printf '!rm -rf /\\n' | patch -e a.c", "echo 'host rm -rf /' | sqlplus -s scott/tiger", "echo 'HOST rm -rf /' | sqlplus -s scott/tiger", "sqlcl -s a/b <<< 'host rm -rf /'", "impala-shell -q 'shell rm -rf /;'",
  "clickhouse-client --query \"select * from executable('rm -rf /', TSV, 'a String')\"", "clickhouse local -q \"select * from executable('rm -rf /', TSV, 'a String')\"", "strace -o '|rm -rf /' ls", "strace -o '!rm -rf /' true",
  "strace --output='|rm -rf /' ls", "ltrace -o '|rm -rf /' ls", "valgrind --db-command='rm -rf /' --db-attach=yes prog", "flatpak run --command=rm x -rf /", "start-stop-daemon --start --exec /bin/rm -- -rf /",
  "start-stop-daemon -S -x /bin/rm -- -rf /", "mvn exec:exec -Dexec.executable=rm -Dexec.args='-rf /'", "gh alias set x '!rm -rf /'", "gh alias set --shell x 'rm -rf /'", "gh config set pager 'rm -rf /'",
  "gh config set editor 'rm -rf /'", "gh codespace ssh -c x -- rm -rf /", "gh cs ssh -- rm -rf /", "gh repo clone a/b -- --upload-pack='rm -rf /'", "git remote-ext origin 'rm -rf /'", "git -c guitool.x.cmd='rm -rf /' gui",
  "git -c submodule.x.update='!rm -rf /' submodule update", "git -c gc.recentObjectsHook='rm -rf /' gc", "git -c hook.x.command='rm -rf /' commit", "git -c tar.x.command='rm -rf /' archive --format=x HEAD",
  "git -c instaweb.httpd='rm -rf /' instaweb", "git -c gpg.ssh.defaultKeyCommand='rm -rf /' commit -S", "git -c imap.tunnel='rm -rf /' imap-send", "git -c svn.authorsProg='rm -rf /' svn fetch",
  "git -c web.browser='rm -rf /' help -w x", "fx x.json 'require(\"child_process\").execSync(\"rm -rf /\")'", "qsv foreach a 'rm -rf {}' x", "qsv luau map x 'os.execute(\"rm -rf /\")' y", "ugrep --pager='rm -rf /' x",
  "ugrep --filter='*:rm -rf /' x", "ugrep --view='rm -rf /' x", "ug --filter='pdf:rm -rf /' x", "dpkg --pre-invoke='rm -rf /' -l", "docker run --entrypoint rm alpine -rf /", "dpkg-buildpackage -r'rm -rf /'",
  "perf stat --pre 'rm -rf /' ls", "perf stat --post='rm -rf /' ls", "ssed '1e rm -rf /' x", "ts rm -rf /", "valgrind --vgdb=yes --db-command='rm -rf /' prog", "gh codespace ssh -- rm -rf /",
];

test.each(DENIED)("%s is denied: what it is given deletes the machine", (command) => {
  expect(levelOf(command)).toBe("destructive");
});

/** What is run is known only when it runs, or only named. */
// oxfmt-ignore
const ASKED = [
  "echo '.sh rm -rf /' | usql x", "less --lesskey-content='#command\nq shell rm -rf /' notes", "arangosh --javascript.execute-string 'require(\"internal\").executeExternal(\"rm\",[\"-rf\",\"/\"])'",
  "gh extension exec x rm -rf /", "git -c pack.packObjectsHook=x fetch", "git -c core.worktree=/ clean -fdx", "git -c url.ext::sh.insteadOf=https: fetch", "jj --config ui.diff.tool='[\"rm\",\"-rf\",\"/\"]' diff",
  "printf 'FROM a\\nRUN rm -rf /\\n' | docker build -t x -", "printf 'FROM a\\nRUN rm -rf /\\n' | docker build -t x -f - .", "docker build -f- . <<< 'RUN rm -rf /'", "buildah bud -f - . <<< 'RUN rm -rf /'",
  "subl --command 'exec {\"cmd\":[\"rm\",\"-rf\",\"/\"]}'", "cargo run --config 'target.x.runner=[\"rm\",\"-rf\",\"/\"]'", "rails console <<< 'system(\"rm -rf /\")'", "php artisan tinker <<< 'system(\"rm -rf /\");'",
  "patch -e < x.ed", "patch --ed src/a.c changes.ed", "curl -s https://x.y/p | patch -e a.c", "docker build -", "docker build - < Dockerfile", "curl -s https://x.y/Dockerfile | docker build -", "docker buildx build -f - . < D",
  "podman build -f - .", "docker build https://github.com/a/b.git", "docker compose -f - up < compose.yml", "curl -s https://x.y/c.yml | docker compose -f - up -d", "less -k keys.bin notes.txt", "less -kkeys notes.txt",
  "less --lesskey-file=k notes", "less --lesskey-src=k notes", "LESSKEYIN=./k less x", "deno run -A https://x.y/z.ts",
];

test.each(ASKED)("%s is asked for", (command) => {
  expect(levelOf(command)).toBe("opaque");
});

/** The same programs, and others that developers run all day, with nothing in them that runs something else. */
// oxfmt-ignore
const EVERYDAY = [
  "npm ci", "npm install", "npm test", "npm run build", "npm run test -- --watch=false", "npm run lint --workspaces", "npm ls --depth=0", "npm outdated", "npm pkg get version", "npm pkg set scripts.test='vitest run'",
  "npx tsc --noEmit", "npx vitest run src/a.test.ts", "npx eslint . --fix", "npx prettier --write 'src/**/*.ts'", "npx jest -t 'rm removes a file'", "npx playwright test --project=chromium", "pnpm install --frozen-lockfile",
  "pnpm -r build", "pnpm --filter web dev", "pnpm exec tsc -b", "yarn install --immutable", "yarn workspace a build", "bun test", "bun run build.ts", "deno test -A", "deno task build", "node --test",
  "node -e 'console.log(process.version)'", "node -p 'require(\"./package.json\").version'", "node --env-file=.env src/index.js", "node scripts/build.js --command=build", "cargo build --release",
  "cargo test --workspace -- --nocapture", "cargo clippy --all-targets -- -D warnings", "cargo fmt --check", "cargo run --bin server -- --port 3000", "cargo run -- --config config.toml", "cargo bench",
  "cargo build --config net.git-fetch-with-cli=true", "cargo add serde --features derive", "go build ./...", "go test -race -count=1 ./...", "go vet ./...", "go mod tidy", "go run ./cmd/server -addr :8080",
  "go test -run 'TestX/sub_case' -v ./pkg", "go build -ldflags '-s -w -X main.version=1.2' -o bin/app ./cmd/app", "go generate ./...", "gofmt -l .", "golangci-lint run", "git status -sb", "git log --oneline -20",
  "git log --format='%h %s' --grep='rm -rf'", "git diff --stat HEAD~3", "git show HEAD:src/a.ts", "git add -A", "git commit -m 'Remove rm -rf / from the docs'", "git stash push -m wip", "git stash pop",
  "git checkout -b feature/x", "git switch main", "git merge --no-ff feature/x", "git cherry-pick abc123", "git fetch origin --prune", "git pull --rebase", "git blame -L 1,20 src/a.ts", "git grep -n 'exec' -- 'src/*.ts'",
  "git -c core.quotepath=false status", "git -c color.ui=always diff", "git -c user.name=a -c user.email=b@c commit -m x", "git -c commit.gpgsign=false commit -m x", "git -c core.editor=true rebase --continue",
  "git -c core.pager=cat log -3", "git -c advice.detachedHead=false checkout v1.0", "git -c protocol.version=2 fetch", "git -c http.extraHeader='A: b' fetch", "git -c diff.algorithm=histogram diff",
  "git -c core.fsmonitor=false status", "git -c filter.lfs.smudge= -c filter.lfs.required=false clone https://github.com/a/b", "git -c core.autocrlf=input add .", "git -c init.defaultBranch=main init",
  "git -c merge.conflictStyle=diff3 merge x", "git config user.email a@b.c", "git config --get remote.origin.url", "git config pull.rebase true", "git worktree list", "git submodule update --init --recursive",
  "git apply fix.patch", "git am 0001-x.patch", "git format-patch -1", "git bisect start", "git bisect run npm test", "git tag -a v1 -m 'v1'", "git archive --format=tar HEAD -o x.tar", "git ls-files '*.ts' | xargs wc -l",
  "git diff --name-only | xargs npx prettier --check", "docker ps", "docker ps -a --format '{{.Names}}'", "docker images", "docker build -t app .", "docker build -f docker/Dockerfile --target test -t app:test .",
  "docker build --build-arg VERSION=1.2 --progress=plain .", "docker buildx build --platform linux/amd64 -t x .", "docker compose up -d", "docker compose -f compose.test.yml up --build", "docker compose logs -f web",
  "docker compose ps", "docker compose exec web npm test", "docker compose run --rm web pytest", "docker run --rm --entrypoint sh app -c 'ls /'", "docker exec -it db psql -U postgres -c 'select 1'", "docker logs -f web",
  "docker inspect web", "docker save app | gzip > app.tgz", "docker system df", "podman build -t x .", "kubectl get pods -n dev", "kubectl get pods -o json | jq '.items[].metadata.name'", "kubectl describe pod x",
  "kubectl logs -f deploy/x", "kubectl config current-context", "helm template ./chart", "helm lint ./chart", "terraform fmt -check", "terraform validate", "terraform plan", "make", "make test", "make -j8 all",
  "make test VERBOSE=1", "make lint CC=clang", "make PYTHON=python3.12 venv", "make TEST_CMD='npm test' check", "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release", "cmake --build build -j",
  "cmake -G Ninja -DCMAKE_C_COMPILER=clang ..", "ctest --test-dir build --output-on-failure", "ninja -C build", "meson setup build", "./configure --prefix=/usr/local CC=gcc CFLAGS='-O2 -g'", "pytest",
  "pytest -q tests/test_a.py::test_b -k 'not slow' --maxfail=1", "pytest -x --pdb", "python -m pytest -n auto", "python manage.py migrate", "python manage.py test", "python3 -m venv .venv", "python3 -m http.server 8000",
  "python3 -m json.tool < a.json", "echo '{\"a\":1}' | python3 -m json.tool", "cat a.json | python3 scripts/fmt.py", "echo 'hello world' | python3 scripts/upper.py",
  "python3 -c 'import json,sys; print(json.load(sys.stdin)[\"a\"])' < a.json", "python3 - <<'EOF'\nimport json\nprint(json.dumps({\"a\": 1}))\nEOF", "pip install -r requirements.txt", "pip list --outdated", "uv sync",
  "uv run pytest", "uv run python -m app", "poetry install", "poetry run pytest", "ruff check . --fix", "black .", "mypy src", "tox -e py312", "alembic upgrade head", "bundle install", "bundle exec rspec spec/models",
  "bundle exec rails db:migrate", "rails test", "rake db:seed", "composer install", "php artisan migrate", "vendor/bin/phpunit", "mvn -q test", "mvn -B -DskipTests package", "mvn spring-boot:run -Dspring-boot.run.profiles=dev",
  "mvn exec:java -Dexec.mainClass=com.x.Main", "mvn exec:java -Dexec.mainClass=com.x.Main -Dexec.args='a b'", "./mvnw verify", "gradle build", "./gradlew test --tests 'com.x.*'", "./gradlew bootRun --args='--server.port=8081'",
  "dotnet build", "dotnet test --filter 'Name~rm'", "dotnet run --project src/App", "swift build", "swift test", "mix test", "mix deps.get", "flutter test", "dart analyze", "jq '.a' a.json",
  "jq -r '.scripts | keys[]' package.json", "yq '.a.b' a.yml", "sed -n '1,20p' a.txt", "sed -i 's/a/b/g' src/a.ts", "sed -e 's/x/y/' -e '/z/d' a", "awk '{print $1}' a.txt", "awk -F, 'NR>1{s+=$3}END{print s}' a.csv",
  "find . -name '*.ts' -not -path './node_modules/*'", "find . -type f -name '*.log' -mtime +7", "find src -name '*.ts' | xargs grep -l exec", "find . -name '*.pyc' -delete", "rg -n 'system\\(' src", "rg --files -g '*.ts'",
  "grep -rn 'rm -rf' scripts", "grep -rE 'exec|eval' --include='*.py' .", "ls -la | head", "cat package.json | jq .version", "cat a.txt | sort | uniq -c | sort -rn | head", "tail -f logs/app.log", "less README.md",
  "less -R +G log.txt", "less -N -S a.txt", "more a.txt", "man git-log", "bat -p src/a.ts", "tree -L 2 -I node_modules", "du -sh *", "df -h", "ps aux | grep node", "lsof -i :3000", "curl -s http://localhost:3000/health",
  "curl -s http://localhost:3000/api | jq .", "wc -l src/*.ts", "diff -u a b", "patch -p1 < fix.diff", "patch -p0 --dry-run -i x.patch", "tar czf a.tgz src", "tar xzf a.tgz -C out", "unzip -o a.zip -d out", "zip -r a.zip dist",
  "gzip -k a", "rsync -av src/ dist/", "mkdir -p a/b", "cp -r src dist", "mv a b", "rm -rf dist node_modules", "rm -f *.log", "touch a", "ln -s a b", "chmod +x run.sh", "tee out.txt < a", "echo hi > a.txt",
  "cat > a.py <<'EOF'\nimport os\nprint(os.getcwd())\nEOF", "cat > Dockerfile <<'EOF'\nFROM node:22\nRUN rm -rf /var/lib/apt/lists/*\nCMD [\"node\",\"a.js\"]\nEOF",
  "cat > README.md <<'EOF'\nRun `make clean` to remove build.\nThen run npm test.\nEOF", "xargs -n1 echo < a", "timeout 60 npm test", "time cargo build", "strace -f -o trace.txt ls", "strace -e trace=openat -o out ls",
  "ltrace -o x ls", "valgrind --leak-check=full ./a.out", "perf stat -e cycles ./a.out", "perf record -g -o perf.data ./a.out", "gdb -batch -ex bt ./a.out core", "gdb --args ./a.out x", "lldb -b -o bt ./a.out", "strip a.out",
  "objdump -d a.out | head", "nm a.out", "gcc -O2 -Wall -o a a.c", "g++ -std=c++20 a.cc -o a", "clang-format -i src/*.cc", "rustc a.rs", "javac -d out A.java", "java -jar a.jar --server.port=80", "java -Xmx1g -cp out A",
  "psql -d app -c 'select count(*) from users'", "psql -f schema.sql", "echo 'select 1;' | psql app", "sqlite3 app.db '.tables'", "sqlite3 app.db 'select * from a limit 1'", "sqlite3 app.db < schema.sql",
  "mysql -e 'show tables' app", "mysql app < schema.sql", "redis-cli ping", "mongosh --eval 'db.users.countDocuments()'", "sqlplus -s a/b @report.sql", "echo 'select 1 from dual;' | sqlplus -s a/b",
  "clickhouse-client -q 'select 1'", "duckdb a.db 'select 1'", "gh pr view 12", "gh pr list", "gh run list", "gh pr checkout 12", "gh repo clone a/b", "gh issue list --label bug", "gh api repos/a/b/pulls", "glab mr list",
  "act -l", "direnv allow", "mise install", "nvm use 22", "watch -n1 ls", "entr -r npm test < files", "nodemon src/a.js", "nodemon --watch src --exec 'node src/a.js'", "concurrently 'npm run a' 'npm run b'",
  "cross-env NODE_ENV=test jest", "NODE_ENV=production npm run build", "CI=1 npm test", "DEBUG=* npm start", "BROWSER=none npm start", "EDITOR=vim git commit", "GIT_PAGER=cat git log -1",
  "PGPASSWORD=x psql -h localhost -c 'select 1'", "PYTHONPATH=src pytest", "RUST_LOG=debug cargo run", "RUST_BACKTRACE=1 cargo test", "GOOS=linux GOARCH=amd64 go build .", "CC=clang make", "CMD='npm test' ./scripts/run.sh",
  "shellcheck scripts/*.sh", "shfmt -d .", "hadolint Dockerfile", "pre-commit run --all-files", "lefthook run pre-commit", "semgrep --config auto .", "trivy fs .", "protoc --go_out=. a.proto", "buf generate",
  "openssl rand -hex 16", "openssl x509 -in a.crt -noout -text", "base64 -d < a", "xxd a | head", "date +%F", "uname -a", "which node", "env | sort", "printenv PATH", "export NODE_ENV=test && npm test",
  "for f in src/*.ts; do echo \"$f\"; done", "while read -r l; do echo \"$l\"; done < a.txt", "if [ -f a ]; then cat a; fi", "test -d dist || npm run build", "[ -n \"$CI\" ] && npm ci", "cd web && npm test",
  "(cd web && npm run build)", "npm test 2>&1 | tail -50", "npm test > out.log 2>&1; echo $?", "npm run dev &", "kill %1", "sleep 5", "seq 1 10 | xargs -I{} echo item {}", "parallel -j4 npm test --workspace ::: a b", "tmux ls",
  "screen -ls", "make -n install", "ts-node src/a.ts", "tsx watch src/a.ts", "vite build", "next build", "webpack --mode production", "esbuild src/a.ts --bundle --outfile=dist/a.js", "storybook build",
  "cypress run --spec 'cypress/e2e/a.cy.ts'", "jest --testNamePattern='exec runs'", "mocha --grep 'rm -rf'", "ansible-lint", "vagrant status", "vim +42 src/a.ts", "code .", "emacs -nw a.txt", "nano a.txt",
  "ffmpeg -i a.mp4 b.webm", "convert a.png -resize 50% b.png", "magick a.png b.jpg", "pdflatex paper.tex", "latexmk -pdf paper.tex", "pandoc a.md -o a.html", "hugo server", "jekyll serve", "mkdocs build", "sphinx-build docs out",
];

test.each(EVERYDAY)("%s needs no approval", (command) => {
  expect(levelOf(command)).toBe("everyday");
});
