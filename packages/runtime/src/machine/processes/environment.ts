import { existsSync } from "node:fs";
import { join } from "node:path";
import { isSecretVariable } from "../../redact/secret-variables.ts";

/** What a command gets of our own environment. Everything else has to be named one by one. */
// oxfmt-ignore
const PASSED = [
  "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "COLORTERM", "NO_COLOR", "TZ", "TMPDIR", "CI",
  "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
] as const;
const PASSED_BEGINNING = "LC_";

/** No name that a shell could take for one. */
const USABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** They change what the programs do that we ourselves start, so they wait until a command is inside. */
const FOR_THE_LOADER = /^(?:LD_|GLIBC_TUNABLES$|MALLOC_)/;
/** How we start bash and find its processes again. */
const OURS = new Set(["BASH_ENV", "ENV", "AUTONOUS_CALL"]);

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Where tools of the person's own home are, for commands whose home is another: read-only there, as all of it. */
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
  /** Names that pass although they are not on the list, even where they look like a secret's. */
  readonly pass: readonly string[];
  /** The home inside the sandbox; left out where there is none. */
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
  // Without a language of the person's own, UTF-8 and no more: LANG would have each program read a dozen files.
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
 * Messages are in English, whatever the person's language is: what a command ran into is told by them (`bash`, RUN_INTO).
 * All else of the language stays: letters, dates, order.
 */
function inEnglish(own: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return ["LANG", "LC_ALL", "LC_MESSAGES"].some((name) => own[name] !== undefined) ? { LANGUAGE: "en" } : {};
}

function isPassed(name: string): boolean {
  // Even if a later change puts its name on the list.
  if (isSecretVariable(name)) return false;
  return name.startsWith(PASSED_BEGINNING) || (PASSED as readonly string[]).includes(name);
}

/** The real home is read-only in there, and programs keep caches and settings at home. */
function inSandbox(realHome: string | undefined, home: string): Record<string, string> {
  const tools = IN_REAL_HOME.filter(({ path }) => realHome !== undefined && existsSync(join(realHome, path)));
  return {
    ...Object.fromEntries(tools.map(({ name, path }) => [name, join(realHome ?? "", path)])),
    HOME: home,
    TMPDIR: "/tmp",
  };
}
