import type { OptionTable } from "./options.ts";
import { readArguments } from "./options.ts";
import type { ShellWord } from "../parsed-shell.ts";
import { baseName, plainName } from "./program-names.ts";

const KUBERNETES = {
  short: "nsflv",
  long: [
    "namespace",
    "context",
    "kubeconfig",
    "cluster",
    "user",
    "server",
    "token",
    "as",
    "as-group",
    "as-uid",
    "cache-dir",
    "certificate-authority",
    "client-certificate",
    "client-key",
    "password",
    "username",
    "profile",
    "request-timeout",
    "tls-server-name",
    "v",
    "vmodule",
    "filename",
    "selector",
    "log-flush-frequency",
  ],
};
const CONTAINERS = {
  short: "Hclfp",
  long: [
    "host",
    "context",
    "config",
    "log-level",
    "file",
    "project-name",
    "project-directory",
    "profile",
    "env-file",
    "parallel",
    "tlscacert",
    "tlscert",
    "tlskey",
    "ansi",
    "progress",
    "connection",
    "url",
    "identity",
    "root",
    "runroot",
    "namespace",
    "address",
    "volumepath",
    "storage-driver",
    "storage-opt",
    "cgroup-manager",
    "runtime",
    "tmpdir",
    "module",
  ],
};
const APT = { short: "otac", long: ["option", "target-release", "config-file", "default-release"] };
const PIP = {
  long: [
    "proxy",
    "timeout",
    "cache-dir",
    "log",
    "python",
    "retries",
    "exists-action",
    "trusted-host",
    "cert",
    "client-cert",
    "use-feature",
    "use-deprecated",
    "keyring-provider",
    "index-url",
    "target",
    "root",
    "prefix",
  ],
};

/**
 * Options with a value that may precede a program's subcommand or appear among its words, so that the value is not
 * taken for the subcommand: `npm --prefix web publish`.
 */
// oxfmt-ignore
const TABLES: Readonly<Record<string, OptionTable | undefined>> = {
  __proto__: null as never,
  docker:    CONTAINERS,
  podman:    CONTAINERS,
  nerdctl:   CONTAINERS,
  "docker-compose": CONTAINERS,
  kubectl:   KUBERNETES,
  oc:        KUBERNETES,
  helm:      { short: "n", long: ["namespace", "kube-context", "kubeconfig", "kube-apiserver", "kube-as-user", "kube-token", "registry-config", "repository-cache", "repository-config", "burst-limit", "qps"] },
  npm:       { short: "wC", long: ["prefix", "workspace", "registry", "loglevel", "userconfig", "globalconfig", "cache", "tag", "otp", "access", "scope", "script-shell", "node-options", "omit", "include", "location", "install-strategy", "call", "package", "editor", "browser", "viewer", "git", "shell", "proxy", "https-proxy", "noproxy", "user-agent", "init-module", "before", "cpu", "os", "libc", "diff", "message", "preid", "depth", "searchlimit", "fetch-retries", "fetch-timeout", "maxsockets", "logs-dir", "logs-max", "node-gyp", "pack-destination", "cafile", "ca", "cert", "key", "local-address", "replace-registry-host", "sbom-format", "sbom-type", "expect-result-count", "audit-level", "auth-type", "heading", "color"] },
  pnpm:      { short: "CFw", long: ["dir", "filter", "filter-prod", "registry", "prefix", "store-dir", "virtual-store-dir", "modules-dir", "lockfile-dir", "workspace-concurrency", "reporter", "loglevel", "config", "changed-files-ignore-pattern", "test-pattern", "package", "script-shell", "global-dir", "global-bin-dir", "tag", "access", "otp"] },
  yarn:      { short: "p", long: ["cwd", "registry", "modules-folder", "cache-folder", "preferred-cache-folder", "mutex", "network-timeout", "network-concurrency", "use-yarnrc", "global-folder", "link-folder", "proxy", "https-proxy", "scripts-prepend-node-path", "tag", "access", "otp", "package"] },
  bun:       { short: "cr", long: ["cwd", "config", "filter", "env-file", "preload", "registry", "tag", "otp", "access"] },
  deno:      { short: "cLr", long: ["config", "log-level", "import-map", "lock", "cert", "location", "seed", "token"] },
  cargo:     { short: "ZCpjF", long: ["config", "manifest-path", "color", "target-dir", "target", "profile", "features", "package", "jobs", "registry", "index", "token", "lockfile-path"] },
  go:        { short: "C" },
  systemctl: { short: "HMtpsn", long: ["host", "machine", "type", "property", "signal", "lines", "root", "image", "kill-whom", "state", "job-mode", "what", "when"] },
  gh:        { short: "R", long: ["repo", "hostname", "jq", "template"] },
  glab:      { short: "R", long: ["repo"] },
  make:      { short: "CfjloIW", long: ["directory", "file", "jobs"] },
  apt:       APT,
  "apt-get": APT,
  aptitude:  APT,
  dnf:       { short: "cRdex", long: ["config", "installroot", "releasever", "setopt", "repo", "repoid", "enablerepo", "disablerepo", "exclude", "forcearch"] },
  yum:       { short: "cRdex", long: ["config", "installroot", "releasever", "setopt", "enablerepo", "disablerepo", "exclude"] },
  apk:       { short: "pXt", long: ["root", "repository", "arch", "keys-dir", "repositories-file", "wait", "virtual"] },
  brew:      {},
  pip:       PIP,
  pip3:      PIP,
  uv:        { short: "p", long: ["python", "project", "directory", "config-file", "cache-dir", "color", "allow-insecure-host", "with", "from", "index", "token"] },
  poetry:    { short: "CP", long: ["directory", "project", "username", "password", "repository"] },
  pdm:       { short: "cp", long: ["config", "project", "repository"] },
  hatch:     { short: "ep", long: ["env", "project", "data-dir", "cache-dir", "config"] },
  twine:     { short: "rups", long: ["repository", "repository-url", "username", "password", "config-file"] },
  gem:       { long: ["config-file", "host", "key"] },
  bundle:    { long: ["gemfile", "path"] },
  dotnet:    { short: "k", long: ["source", "api-key"] },
  terraform: { isOneDash: true, long: ["chdir"] },
  tofu:      { isOneDash: true, long: ["chdir"] },
  terragrunt: { long: ["terragrunt-working-dir", "terragrunt-config", "working-dir", "config"] },
  pulumi:    { short: "Csv", long: ["cwd", "stack", "verbose", "color", "tracing", "profiling"] },
  flux:      { short: "n", long: ["namespace", "context", "kubeconfig"] },
  argocd:    { long: ["server", "auth-token", "config", "grpc-web-root-path", "kube-context"] },
  hg:        { short: "R", long: ["repository", "cwd", "config", "encoding", "pager"] },
  svn:       { long: ["username", "password", "config-dir", "config-option"] },
  jj:        { short: "R", long: ["repository", "at-operation", "config", "config-file", "color"] },
  rails:     {},
  rake:      { short: "fCI", long: ["rakefile", "directory"] },
  gradle:    { short: "pbcgIPD", long: ["project-dir", "build-file", "settings-file", "gradle-user-home", "init-script"] },
  gradlew:   { short: "pbcgIPD", long: ["project-dir", "build-file", "settings-file", "gradle-user-home", "init-script"] },
  mvn:       { short: "fplsDPt", long: ["file", "projects", "settings", "define", "activate-profiles"] },
  mvnw:      { short: "fplsDPt", long: ["file", "projects", "settings", "define", "activate-profiles"] },
  curl:      { short: "oAHbcDeEKmPQrtuUwxyYzCdFTX", long: ["output", "user-agent", "header", "cookie", "request", "max-time", "user", "write-out", "proxy", "data", "form", "upload-file", "connect-timeout", "retry"] },
  crontab:   { short: "u" },
  wget:      { short: "OPoUtTQ", long: ["output-document", "method", "post-data", "header", "directory-prefix"] },
  chmod:     { long: ["reference"] },
  psql:      { short: "dhpUvoFRPTf", long: ["dbname", "host", "port", "username", "set"] },
  mysql:     { short: "uhPDS", long: ["user", "host", "port", "database"] },
  git:       { short: "Cc", long: ["git-dir", "work-tree", "namespace", "exec-path", "super-prefix", "config-env", "attr-source", "list-cmds"] },
};

export function optionsOf(program: string): OptionTable | undefined {
  return TABLES[plainName(baseName(program))];
}

/** Options that take no value, whatever the program. */
const PLAIN =
  /^(?:--(?:no-.+|silent|quiet|verbose|debug|yes|force|help|version|json|global|dry-run|offline|frozen|frozen-lockfile|locked|workspaces|recursive|parallel|ignore-scripts|if-present|legacy-peer-deps|production|all|prefer-offline|insecure.*|tlsverify|include-workspace-root|workspace-root|stream|paginate|bare|paginate|literal-pathspecs|glob-pathspecs|release|disable-pip-version-check|isolated|require-virtualenv|ansi|no-interaction)|-[aAbdDfghiklqrsvVyzE1]+)$/;

/** A program's words, and the operands among them: its subcommands first. */
export interface Subcommands {
  readonly words: readonly ShellWord[];
  readonly operands: readonly ShellWord[];
}

/**
 * Whether an operand may be the value of the unknown option before it: then the next operand counts as well.
 * `cargo +nightly build` has such a word, too.
 */
export function isDoubtful(word: ShellWord, words: readonly ShellWord[]): boolean {
  const at = words.indexOf(word);
  const before = words[at - 1]?.value ?? "";
  if (at === 1) return /^\+\w/.test(word.value);
  return /^-[^=]+$/.test(before) && before !== "--" && !PLAIN.test(before);
}

/** How many operands the given subcommands take, with alternatives for each; undefined if they differ. */
export function matchSubcommands(
  { words, operands }: Subcommands,
  choices: readonly (readonly string[])[],
): number | undefined {
  let at = 0;
  for (const names of choices) {
    for (;;) {
      const word = operands[at];
      if (word === undefined) return undefined;
      at++;
      if (names.includes(word.value)) break;
      if (!isDoubtful(word, words)) return undefined;
    }
  }
  return at;
}

/** The index, among the words, of one of these subcommands; -1 if the program does something else. */
export function findSubcommand(words: readonly ShellWord[], names: readonly string[]): number {
  const { operands } = readArguments(words, optionsOf(words[0]?.value ?? ""));
  const found = matchSubcommands({ words, operands }, [names]);
  const word = found === undefined ? undefined : operands[found - 1];
  return word === undefined ? -1 : words.indexOf(word);
}

/** The words without options before the subcommand, in each possible reading: `git push` for `git -C x push`. */
export function withoutOptionsBefore(words: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  const [program, ...rest] = words;
  if (program === undefined || rest[0] === undefined || !/^[-+]./.test(rest[0].value)) return [];
  const { firstOperand } = readArguments(words, optionsOf(program.value), { stopsEarly: true });
  const readings: (readonly ShellWord[])[] = [];
  for (let at = firstOperand; at < words.length; at++) {
    const word = words[at];
    if (word?.value.startsWith("-") === true) continue;
    readings.push([program, ...words.slice(at)]);
    if (word === undefined || !isDoubtful(word, words)) break;
  }
  return readings;
}
