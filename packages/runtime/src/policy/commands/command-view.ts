import type { ProfileName } from "../../protocol/configuration.ts";

/**
 * What a sandboxed command sees of the machine in addition to the roots, always read-only. `programs`: programs and
 * their files. `system`: every top-level folder except homes and private ones. For the home, both use an allowlist.
 */
export type CommandView = "programs" | "system";

/** What each profile shows a command. */
// oxfmt-ignore
export const COMMAND_VIEWS = {
  readonly:   "programs",
  guarded:    "programs",
  autonomous: "system",
} as const satisfies Record<ProfileName, CommandView>;

/** Top-level folders with programs, their libraries and their settings. */
// oxfmt-ignore
export const PROGRAM_FOLDERS: readonly string[] = [
  "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap", "/home/linuxbrew/.linuxbrew",
  // CPU count and memory, which programs use to size themselves.
  "/sys/devices/system", "/sys/fs/cgroup",
  // Data installed with programs. The rest of /var belongs to services.
  "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/apt/lists", "/var/lib/gems", "/var/lib/ghc", "/var/lib/texmf", "/var/lib/alternatives", "/var/cache/fontconfig",
];

/**
 * Never visible in the view `system`: homes, services and their sockets, private folders, and the roots of other disks.
 */
// oxfmt-ignore
export const UNSEEN_FOLDERS: readonly string[] = ["/home", "/root", "/run", "/tmp", "/proc", "/dev", "/sys", "/var", "/lost+found"];

/** System folders with secrets: hidden as folders, so that new and replaced files are hidden too. */
// oxfmt-ignore
export const CLOSED_FOLDERS: readonly string[] = [
  "/etc/ssh", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/wireguard", "/etc/openvpn", "/etc/ipsec.d", "/etc/swanctl",
  "/etc/kubernetes", "/etc/rancher", "/etc/docker", "/etc/cloudflared", "/etc/NetworkManager", "/etc/sudoers.d", "/etc/dropbear", "/etc/ppp", "/etc/credstore", "/etc/credstore.encrypted",
];

/**
 * What tools need from the user's home, relative to it: toolchains and their launchers. No row may contain credentials:
 * of a folder with both (`.cargo`, `.config`), only the part without credentials is listed.
 */
// oxfmt-ignore
export const HOME_TOOLS: readonly string[] = [
  // launchers
  "bin", ".local/bin", ".local/lib", ".bin",
  // many languages
  ".asdf", ".tool-versions", ".local/share/mise", ".local/share/rtx", ".config/mise/config.toml", ".proto", ".nix-profile", ".local/state/nix/profiles", ".linuxbrew", ".pixi/bin", ".pixi/envs",
  // JavaScript
  ".nvm", ".fnm", ".local/share/fnm", ".local/state/fnm_multishells", ".volta", ".nodenv", ".nvs", ".n", "n", ".npm-global", ".npm-packages", ".local/share/pnpm", ".yarn/bin", ".config/yarn/global/node_modules", ".deno/bin", ".bun/bin", ".bun/install/global",
  // Python
  ".pyenv", ".local/share/uv", ".local/share/pipx", ".local/pipx", ".local/share/virtualenvs", ".local/share/pypoetry", ".rye", ".poetry", "miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba",
  // Rust, Go, JVM, Ruby, the rest
  ".rustup", ".cargo/bin", ".cargo/env", "go/bin", ".goenv", "sdk", ".sdkman", ".jenv", ".jabba", ".local/share/coursier/bin", ".rbenv", ".rvm", ".gem/ruby", ".local/share/gem/ruby", ".phpenv", ".composer/vendor", ".config/composer/vendor",
  ".ghcup", ".cabal/bin", ".local/share/stack", ".opam", ".juliaup", ".julia/juliaup", ".dotnet", ".swiftly", ".foundry/bin", ".elan", ".local/share/zigup", ".zvm", ".kerl", ".luarocks", ".plenv", ".perl5", "perl5", ".pub-cache/bin", "Android/Sdk", ".flutter", "flutter",
];

/**
 * Package caches, relative to the home: a build without network needs them. They are read-only, so only caches that
 * tools can read without writing to them are listed. A command with network downloads into its own folders instead. The
 * sandbox has another home, so a variable points to each cache: `~` is the user's home, `@` the home in the sandbox.
 */
// oxfmt-ignore
export const HOME_PACKAGES: readonly { readonly paths: readonly string[]; readonly variables: Readonly<Record<string, string>> }[] = [
  { paths: ["go/pkg/mod"],                                                        variables: { GOMODCACHE: "~/go/pkg/mod" } },
  { paths: [".cargo/registry", ".cargo/git"],                                     variables: { CARGO_HOME: "~/.cargo" } },
  { paths: [".npm/_cacache"],                                                     variables: { npm_config_cache: "~/.npm", npm_config_logs_dir: "@/.npm/_logs" } },
  { paths: [".cache/node/corepack"],                                              variables: { COREPACK_HOME: "~/.cache/node/corepack" } },
  { paths: [".m2/repository"],                                                    variables: { MAVEN_ARGS: "-Dmaven.repo.local.tail=~/.m2/repository" } },
  { paths: [".gradle/caches/modules-2"],                                          variables: { GRADLE_RO_DEP_CACHE: "~/.gradle/caches" } },
  { paths: [".nuget/packages"],                                                   variables: { NUGET_PACKAGES: "~/.nuget/packages" } },
  { paths: [".mix"],                                                              variables: { MIX_HOME: "~/.mix" } },
  { paths: [".julia/packages", ".julia/artifacts", ".julia/registries"],          variables: { JULIA_DEPOT_PATH: "@/.julia:~/.julia" } },
  { paths: [".cache/ms-playwright"],                                              variables: { PLAYWRIGHT_BROWSERS_PATH: "~/.cache/ms-playwright" } },
  { paths: [".cache/puppeteer"],                                                  variables: { PUPPETEER_CACHE_DIR: "~/.cache/puppeteer" } },
];

/** The user's git settings that a command gets: identity and preferences, never credentials. */
// oxfmt-ignore
export const GIT_IDENTITY: ReadonlySet<string> = new Set([
  "user.name", "user.email", "author.name", "author.email", "committer.name", "committer.email", "init.defaultbranch", "core.autocrlf", "core.eol", "core.safecrlf",
  "core.quotepath", "core.abbrev", "core.whitespace", "core.commentchar", "pull.rebase", "pull.ff", "merge.ff", "merge.conflictstyle", "rebase.autostash", "rebase.autosquash",
  "rebase.updaterefs", "rerere.enabled", "diff.algorithm", "diff.renames", "diff.mnemonicprefix", "diff.noprefix", "log.date", "push.default", "push.autosetupremote", "fetch.prune", "fetch.prunetags",
  "branch.sort", "tag.sort", "column.ui", "color.ui", "status.short", "status.branch", "status.showuntrackedfiles", "commit.verbose", "safe.directory",
]);

/**
 * How often programs retry without network access. Every lookup and connection fails immediately there; what takes long
 * is the wait between attempts (npm: 70 seconds, cargo: 12). pip gets one retry: with none it does not print the cause.
 */
// oxfmt-ignore
export const OFFLINE_VARIABLES: Readonly<Record<string, string>> = {
  npm_config_fetch_retries:             "0", // npm, pnpm
  YARN_HTTP_RETRY:                      "0",
  BUN_CONFIG_HTTP_RETRY_COUNT:          "0",
  PIP_RETRIES:                          "1",
  UV_HTTP_RETRIES:                      "0",
  POETRY_REQUESTS_MAX_RETRIES:          "0",
  CONDA_REMOTE_MAX_RETRIES:             "0",
  CARGO_NET_RETRY:                      "0",
  RUSTUP_MAX_RETRIES:                   "0",
  BUNDLE_RETRY:                         "0",
  TF_REGISTRY_DISCOVERY_RETRY:          "0",
  NUGET_ENHANCED_MAX_NETWORK_TRY_COUNT: "1",
};
