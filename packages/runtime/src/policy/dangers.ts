import type { PlaceRow } from "./places.ts";

/** Copies of a private key's name that hold no key: its public half, and text or code about it. */
// oxfmt-ignore
const NO_KEY = [".pub", ".md", ".ts", ".tsx", ".js", ".mjs", ".py", ".go", ".rs", ".rb", ".java", ".c", ".h", ".cs", ".php"];

/**
 * Never opened, listed, written or removed, whatever the profile and the rules say (spec 3, what no profile allows).
 * Names count in any case, and also where nothing is there yet.
 */
// oxfmt-ignore
export const SENSITIVE_PLACES = [
  { why: "keys that open other machines",   paths: [".ssh", "/etc/ssh/ssh_host_*", "/etc/dropbear"], except: [".pub"] },
  { why: "private keys and trust",          paths: [".gnupg", "secring.*", "private-keys-v1.d", ".pki", "/etc/ssl/private", "/etc/pki/tls/private", ".config/sops/age"] },
  { why: "a private key",                   paths: ["id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "id_xmss*"], except: NO_KEY },
  { why: "a key file",                      paths: ["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.agekey", "*.keytab", "*.ovpn"] },
  { why: "a store of passwords",            paths: ["*.kdbx", "*.keychain", "*.keychain-db", "Library/Keychains", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", "/run/user/*/keyring"] },
  { why: "a store of passwords",            paths: [".config/op", ".config/1Password", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/keepassxc"] },

  { why: "cloud credentials",               paths: [".aws", ".azure", ".kube", ".oci", ".config/gcloud", ".config/doctl", ".config/hcloud", ".config/scw", ".config/rclone", ".s3cfg", ".boto"] },
  { why: "cloud credentials",               paths: ["application_default_credentials.json", "client_secret*.json", "service-account*.json", "service_account*.json"], except: [".example.json", ".schema.json"] },
  { why: "credentials for a service",       paths: [".config/gh", ".config/hub", ".config/glab-cli", ".netrc", "_netrc", ".authinfo*", ".git-credentials", ".config/git/credentials", ".vault-token", ".terraform.d/credentials.tfrc.json", ".databrickscfg"] },
  { why: "credentials for a registry",      paths: [".docker/config.json", ".dockercfg", ".config/containers/auth.json", "~/.npmrc", "~/.yarnrc.yml", "~/.pypirc", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.gem/credentials"] },
  { why: "credentials for a registry",      paths: ["~/.m2/settings.xml", "~/.gradle/gradle.properties", "~/.composer/auth.json", "~/.config/composer/auth.json", "~/.bundle/config", "~/.nuget/NuGet"] },
  { why: "credentials for a database",      paths: [".pgpass", ".my.cnf", ".mylogin.cnf"] },
  { why: "credentials of another agent",    paths: [".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json", ".config/github-copilot"] },

  { why: "a browser or mail profile",       paths: [".mozilla", ".thunderbird", ".config/google-chrome*", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge*", ".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium", ".var/app/org.mozilla.firefox"] },
  { why: "a browser or mail profile",       paths: ["Library/Application Support/Google/Chrome", "Library/Application Support/Firefox", "Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge", "Library/Thunderbird", "Library/Safari", "Library/Cookies"] },
  { why: "a wallet",                        paths: ["wallet.dat", ".bitcoin", ".litecoin", ".dogecoin", ".ethereum/keystore", ".electrum/wallets", ".config/solana/id.json", ".bitmonero"] },

  { why: "what was typed before",           paths: ["~/.bash_history", "~/.zsh_history", "~/.sh_history", "~/.history", "~/.local/share/fish/fish_history", "~/.psql_history", "~/.mysql_history", "~/.python_history", "~/.node_repl_history"] },
  { why: "the key to this desktop",         paths: ["~/.Xauthority", "~/.ICEauthority"] },
  { why: "the runtime's own configuration", paths: ["~/.config/autonous"] },

  { why: "passwords of this machine",       paths: ["/etc/shadow*", "/etc/gshadow*", "/etc/master.passwd", "/private/etc/master.passwd"] },
  { why: "who may become root",             paths: ["/etc/sudoers", "/etc/sudoers.d", "/private/etc/sudoers", "/private/etc/sudoers.d"] },
  { why: "secrets of this machine",         paths: ["/run/secrets", "/var/run/secrets", "/etc/wireguard", "/etc/NetworkManager/system-connections"] },
  { why: "the kernel's view of processes",  paths: ["/proc", "/sys"] },
  { why: "a device",                        paths: ["/dev"], open: ["null", "zero", "full", "random", "urandom", "shm"] },
] as const satisfies readonly PlaceRow[];

/**
 * What some program runs later without being asked: changing it needs a person, also inside the workspace (spec 3,
 * Paths). What people run on purpose (package.json, Makefile, sources) is everyday work and not here. A folder that
 * git takes for a repository by its contents alone cannot be told by its name: see `looksLikeRepository`.
 */
// oxfmt-ignore
export const RUN_LATER = [
  { why: "git runs it",                      paths: [".git/**/hooks", "*.git/hooks", ".githooks", ".config/git/hooks"] },
  { why: "it names programs that git runs",  paths: [".git/**/config", ".git/**/config.worktree", ".git/**/info/attributes", "*.git/config", "*.git/info/attributes", ".gitconfig", ".config/git/config", ".config/git/attributes"] },
  { why: "it points git to other hooks",     paths: [".git/**/commondir"] },
  { why: "it points git to other hooks",     paths: [".git"], exact: true },
  { why: "it runs at each commit",           paths: [".husky", ".huskyrc", ".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", "lefthook.yaml", "lefthook-local.yml", ".lefthook.yml", ".lefthook.yaml", ".lefthook-local.yml", ".lefthook", ".overcommit.yml"] },

  { why: "the shell runs it when it starts", paths: [".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".config/fish", ".config/powershell"] },
  { why: "the shell runs it when it starts", paths: ["/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh", "/etc/environment"] },
  { why: "the shell runs it in this folder", paths: [".envrc", ".direnvrc", ".config/direnv"] },
  { why: "a session runs it when it starts", paths: [".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".config/environment.d", ".config/autostart", ".tmux.conf", ".config/tmux", ".screenrc"] },
  { why: "the system runs it by itself",     paths: [".config/systemd/user", ".local/share/systemd/user", "Library/LaunchAgents", "Library/LaunchDaemons", "/etc/systemd", "/etc/init.d", "/etc/ld.so.preload"] },
  { why: "it runs on a schedule",            paths: ["/etc/crontab", "/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly", "/etc/anacrontab", "/var/spool/cron", "/var/spool/at"] },
  { why: "a program runs it when it starts", paths: [".gdbinit", ".lldbinit", ".rprofile", ".irbrc", ".pryrc", ".psqlrc", ".sqliterc"] },

  { why: "the editor runs what it says",     paths: [".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".vscode/mcp.json", "*.code-workspace", ".idea/runConfigurations", ".idea/workspace.xml", ".idea/watcherTasks.xml", ".fleet", ".zed", ".helix", "*.sublime-project"] },
  { why: "the editor runs what it says",     paths: [".vimrc", ".gvimrc", ".nvimrc", ".exrc", ".nvim.lua", ".lvimrc", ".vim", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs", ".dir-locals.el", ".dir-locals-2.el"] },
  { why: "it runs when the container opens", paths: [".devcontainer", ".devcontainer.json", ".gitpod.yml"] },

  { why: "CI runs what it says",             paths: [".github/workflows", ".github/actions", ".gitlab-ci.yml", ".gitlab/ci", ".forgejo/workflows", ".forgejo/actions", ".gitea/workflows", ".gitea/actions", ".circleci", ".buildkite", ".semaphore", ".teamcity", ".builds"] },
  { why: "CI runs what it says",             paths: ["Jenkinsfile", "Jenkinsfile.*", "*.Jenkinsfile", "azure-pipelines.yml", "azure-pipelines.yaml", ".azure-pipelines", ".travis.yml", "bitbucket-pipelines.yml", ".drone.yml", ".drone.yaml", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", "appveyor.yml", ".appveyor.yml", ".cirrus.yml", ".build.yml", "cloudbuild.yaml", "buildspec.yml"] },

  { why: "a package manager loads it",       paths: [".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/plugins", ".yarn/releases", ".pnpmfile.cjs", ".pnpmfile.mjs", ".pnp.cjs", ".pnp.loader.mjs", ".cargo/config", ".cargo/config.toml", ".gemrc", ".bundle/config", "pip.conf", ".mvn", ".bazelrc", ".condarc"] },
  { why: "it configures an agent",           paths: [".agent", ".agents", ".mcp.json", ".claude", ".cursor", ".gemini", ".codex", ".opencode", "opencode.json", "opencode.jsonc", ".windsurf", ".kiro", ".aider.conf.yml", ".continue", ".roo", ".amazonq"] },
] as const satisfies readonly PlaceRow[];

/**
 * Whether git takes a folder with these names in it for a repository, whatever it is called: whoever enters it and asks
 * git anything has the programs run that its configuration names.
 */
export function looksLikeRepository(names: Pick<ReadonlySet<string>, "has">): boolean {
  return names.has("HEAD") && (names.has("commondir") || (names.has("objects") && names.has("refs")));
}

/** What in a repository's own folder names programs that git runs, or leads it to another one that does. */
export const REPOSITORY_SETTINGS: ReadonlySet<string> = new Set(["config", "config.worktree", "commondir", "hooks"]);
