import type { PlaceRow } from "./places.ts";

/** Files named like a private key that are not one: its public half, and text or code about it. */
// oxfmt-ignore
const NO_KEY = [".pub", ".md", ".ts", ".tsx", ".js", ".mjs", ".py", ".go", ".rs", ".rb", ".java", ".c", ".h", ".cs", ".php"];

/**
 * Never opened, listed, written or removed, whatever the profile and the rules say (spec 3, what no profile allows).
 * Names match regardless of case, and also if nothing exists there yet.
 */
// oxfmt-ignore
export const SENSITIVE_PLACES = [
  { why: "SSH keys and configuration",      paths: [".ssh", "/etc/ssh/ssh_host_*", "/etc/dropbear"], except: [".pub"] },
  { why: "private keys and trust",          paths: [".gnupg", "secring.*", "private-keys-v1.d", ".pki", "/etc/ssl/private", "/etc/pki/tls/private", ".config/sops/age"] },
  { why: "a private key",                   paths: ["id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "id_xmss*"], except: NO_KEY, inert: true },
  { why: "a key file",                      paths: ["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.agekey", "*.keytab", "*.ovpn"], inert: true },
  { why: "a password store",            paths: ["*.kdbx", "*.keychain", "*.keychain-db"], inert: true },
  { why: "a password store",            paths: ["Library/Keychains", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", "/run/user/*/keyring"] },
  { why: "a password store",            paths: [".config/op", ".config/1Password", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/keepassxc"] },

  { why: "cloud credentials",               paths: [".aws", ".azure", ".kube", ".oci", ".config/gcloud", ".config/doctl", ".config/hcloud", ".config/scw", ".config/rclone", ".s3cfg", ".boto"] },
  { why: "cloud credentials",               paths: ["application_default_credentials.json", "client_secret*.json", "service-account*.json", "service_account*.json"], except: [".example.json", ".schema.json"], inert: true },
  { why: "credentials for a service",       paths: [".config/gh", ".config/hub", ".config/glab-cli", ".netrc", "_netrc", ".authinfo*", ".git-credentials", ".config/git/credentials", ".vault-token", ".terraform.d/credentials.tfrc.json", ".databrickscfg"] },
  { why: "credentials for a registry",      paths: [".docker/config.json", ".dockercfg", ".config/containers/auth.json", "~/.npmrc", "~/.yarnrc.yml", "~/.pypirc", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.gem/credentials"] },
  { why: "credentials for a registry",      paths: ["~/.m2/settings.xml", "~/.gradle/gradle.properties", "~/.composer/auth.json", "~/.config/composer/auth.json", "~/.bundle/config", "~/.nuget/NuGet"] },
  { why: "credentials for a database",      paths: [".pgpass", ".my.cnf", ".mylogin.cnf"] },
  { why: "credentials of another agent",    paths: [".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json", ".config/github-copilot"] },

  { why: "a browser or mail profile",       paths: [".mozilla", ".thunderbird", ".config/google-chrome*", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge*", ".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium", ".var/app/org.mozilla.firefox"] },
  { why: "a browser or mail profile",       paths: ["Library/Application Support/Google/Chrome", "Library/Application Support/Firefox", "Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge", "Library/Thunderbird", "Library/Safari", "Library/Cookies"] },
  { why: "a wallet",                        paths: ["wallet.dat", ".bitcoin", ".litecoin", ".dogecoin", ".ethereum/keystore", ".electrum/wallets", ".config/solana/id.json", ".bitmonero"] },

  { why: "a history of typed commands",           paths: ["~/.bash_history", "~/.zsh_history", "~/.sh_history", "~/.history", "~/.local/share/fish/fish_history", "~/.psql_history", "~/.mysql_history", "~/.python_history", "~/.node_repl_history"] },
  { why: "the key to this desktop",         paths: ["~/.Xauthority", "~/.ICEauthority"] },
  { why: "the runtime's own configuration", paths: ["~/.config/autonous"] },

  { why: "passwords of this machine",       paths: ["/etc/shadow*", "/etc/gshadow*", "/etc/master.passwd", "/private/etc/master.passwd"] },
  { why: "who may become root",             paths: ["/etc/sudoers", "/etc/sudoers.d", "/private/etc/sudoers", "/private/etc/sudoers.d"] },
  { why: "secrets of this machine",         paths: ["/run/secrets", "/var/run/secrets", "/etc/wireguard", "/etc/NetworkManager/system-connections"] },
  { why: "the kernel's view of processes",  paths: ["/proc", "/sys"] },
  { why: "a device",                        paths: ["/dev"], open: ["null", "zero", "full", "random", "urandom", "shm"] },
] as const satisfies readonly PlaceRow[];

/**
 * Whether git treats a folder that contains these names as a repository, whatever the folder is called: any git command
 * inside it runs the programs that its configuration names.
 */
export function looksLikeRepository(names: Pick<ReadonlySet<string>, "has">): boolean {
  return names.has("HEAD") && (names.has("commondir") || (names.has("objects") && names.has("refs")));
}

/** Entries of a repository's own folder that name programs for git to run, or point to another folder that does. */
export const REPOSITORY_SETTINGS: ReadonlySet<string> = new Set(["config", "config.worktree", "commondir", "hooks"]);

/**
 * Settings folders that commands have no reason to write to: read-only as folders, which covers replaced and new files.
 */
export const FIXED_FOLDERS: ReadonlySet<string> = new Set([".vscode", ".idea", ".cargo", ".bundle"]);
