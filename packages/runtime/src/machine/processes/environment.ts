import { existsSync } from "node:fs";
import { join } from "node:path";
import { isSecretVariable } from "../../redact/assignments/secret-variables.ts";

/** The variables of our own environment that a command gets. All others must be listed explicitly. */
// oxfmt-ignore
const PASSED = [
  "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "COLORTERM", "NO_COLOR", "TZ", "TMPDIR", "CI",
  "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
] as const;
const PASSED_BEGINNING = "LC_";

/** A name that is valid in a shell. */
const USABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** They affect programs that we start ourselves, so they are set only inside, for the command. */
const FOR_THE_LOADER = /^(?:LD_|GLIBC_TUNABLES$|MALLOC_)/;
/** Variables that we use ourselves, to start bash and to find its processes. */
const OURS = new Set(["BASH_ENV", "ENV", "AUTONOUS_CALL"]);

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Tool locations in the user's home, for commands with another home: mounted read-only, like all of it. */
// oxfmt-ignore
const IN_REAL_HOME = [
  { name: "RUSTUP_HOME",             path: ".rustup" },
  { name: "PYENV_ROOT",              path: ".pyenv" },
  { name: "NVM_DIR",                 path: ".nvm" },
  { name: "NODENV_ROOT",             path: ".nodenv" },
  { name: "FNM_DIR",                 path: ".local/share/fnm" },
  { name: "RBENV_ROOT",              path: ".rbenv" },
  { name: "SDKMAN_DIR",              path: ".sdkman" },
  { name: "JENV_ROOT",               path: ".jenv" },
  { name: "GOENV_ROOT",              path: ".goenv" },
  { name: "VOLTA_HOME",              path: ".volta" },
  { name: "ASDF_DATA_DIR",           path: ".asdf" },
  { name: "MISE_DATA_DIR",           path: ".local/share/mise" },
  { name: "MISE_GLOBAL_CONFIG_FILE", path: ".config/mise/config.toml" },
  { name: "DOTNET_ROOT",             path: ".dotnet" },
] as const;

export interface EnvironmentOptions {
  /** Names that pass although they are not listed, even if they look like those of secrets. */
  readonly pass: readonly string[];
  /** The home folder inside the sandbox. Undefined without a sandbox. */
  readonly sandbox_home?: string;
}

export interface CommandEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** Only for the command, not for the program that starts it. */
  readonly inside_only: Readonly<Record<string, string>>;
}

/** The environment of a command (spec 3, Sandbox): a short list, and nothing that is named like a secret. */
export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  { pass, sandbox_home }: EnvironmentOptions,
): CommandEnvironment {
  const named = new Set(pass);
  // Without a locale of the user, set only UTF-8: LANG would make each program read a dozen files.
  const letters = own["LANG"] === undefined ? { LC_CTYPE: "C.UTF-8" } : {};
  const variables: Record<string, string> = { PATH: DEFAULT_PATH, ...letters, ...inEnglish(own) };
  const inside_only: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || !USABLE_NAME.test(name) || OURS.has(name)) continue;
    if (!named.has(name) && !isPassed(name)) continue;
    (FOR_THE_LOADER.test(name) ? inside_only : variables)[name] = value;
  }
  if (sandbox_home === undefined) return { variables, inside_only };
  return { variables: { ...variables, ...inSandbox(variables["HOME"], sandbox_home) }, inside_only };
}

/**
 * Messages are in English in any locale, because errors are recognized by their text (`bash`, RUN_INTO). The rest of
 * the locale stays: character set, dates, sorting.
 */
function inEnglish(own: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return ["LANG", "LC_ALL", "LC_MESSAGES"].some((name) => own[name] !== undefined) ? { LANGUAGE: "en" } : {};
}

function isPassed(name: string): boolean {
  // Even if a later change puts its name on the list.
  if (isSecretVariable(name)) return false;
  return name.startsWith(PASSED_BEGINNING) || (PASSED as readonly string[]).includes(name);
}

/** The real home is read-only inside, and programs write caches and settings to their home. */
function inSandbox(realHome: string | undefined, home: string): Record<string, string> {
  const tools = IN_REAL_HOME.filter(({ path }) => realHome !== undefined && existsSync(join(realHome, path)));
  return {
    ...Object.fromEntries(tools.map(({ name, path }) => [name, join(realHome ?? "", path)])),
    HOME: home,
    TMPDIR: "/tmp",
  };
}
