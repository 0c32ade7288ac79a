import type { ShellAssignment, SimpleCommand } from "../../shell/parsed-shell.ts";

interface VariableRow {
  readonly names: RegExp;
  readonly why: string;
  /** Harmless values. */
  readonly harmless?: RegExp;
  /** The separator between the parts of a value; each part must be harmless. */
  readonly parts?: string;
}

const NO_PROGRAM = /^(?:cat|less|more|true|false|none|:|vi|vim|nano|less -\w+|)$/;
const OWN_FOLDER =
  /^(?:\$PATH|\$\{PATH\}|~\/[\w./-]+|\/(?:usr|opt|bin|sbin|snap|nix|home\/linuxbrew)[\w./-]*|(?:\.|\.\/|\$PWD\/|\$\{PWD\}\/|\$\(pwd\)\/)?[\w./-]*(?:node_modules\/\.bin|\.?venv\/bin)|\$(?:\{?(?:HOME|GOPATH|CARGO_HOME|PNPM_HOME|VIRTUAL_ENV|JAVA_HOME|NVM_DIR|BUN_INSTALL|DENO_INSTALL|GOROOT)\}?)[\w./-]*)$/;

/** Variables that change what later commands run. */
// oxfmt-ignore
const VARIABLES: readonly VariableRow[] = [
  { names: /^PATH$/,                         why: "it changes which programs are found", harmless: OWN_FOLDER, parts: ":" },
  { names: /^(?:LD|DYLD)_/,                  why: "it loads other code into every program", harmless: /^$/ },
  { names: /^(?:BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS[0-4]|PROMPT_COMMAND|BASH_FUNC_.*|ZDOTDIR|CDPATH|GLOBIGNORE|EXECIGNORE|FIGNORE|BASH_LOADABLES_PATH|INPUTRC|HISTFILE)$/, why: "it changes what the shell does", harmless: /^(?:development|production|test|staging|dev|prod|local|ci|)$/ },
  { names: /^GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT$|TRACE|PAGER$|EDITOR$|SEQUENCE_EDITOR$|MERGE_AUTOEDIT$|OPTIONAL_LOCKS$|LFS_SKIP_SMUDGE$|REFLOG_ACTION$|CEILING_DIRECTORIES$|DISCOVERY_ACROSS_FILESYSTEM$|FLUSH$|ADVICE$|DEPTH$|COMMIT$|SHA$|BRANCH$|TAG$|REF$)/, why: "it changes what git does", harmless: /^$/ },
  { names: /^(?:\w+_)?(?:PAGER|EDITOR|BROWSER|ASKPASS)$|^(?:VISUAL|MANPAGER|HGEDITOR|P4EDITOR|LESSOPEN|LESSCLOSE|LESSKEY\w*|VIMINIT|EXINIT|PSQLRC|HGRCPATH|HGMERGE|SVN_SSH|MAKEFILES|AWKLIBPATH|FZF_DEFAULT_COMMAND|FCEDIT|DIFF|RSYNC_RSH|CVS_RSH|TAR_OPTIONS|GREP_OPTIONS|RIPGREP_CONFIG_PATH|PERL5DB|MAKE_SHELL|SHELL)$/, why: "it starts another program", harmless: NO_PROGRAM },
  { names: /^NODE_OPTIONS$/,                 why: "it loads other code into node", harmless: /^(?:--(?:max[-_]old[-_]space[-_]size|max-semi-space-size|stack-size|stack-trace-limit|unhandled-rejections|conditions|dns-result-order|max-http-header-size)=?[\w@/-]*|--(?:no-warnings|no-deprecation|enable-source-maps|trace-[\w-]+|experimental-(?!loader|default|sea)[\w-]+|no-experimental-[\w-]+|openssl-legacy-provider|throw-deprecation|preserve-symlinks|expose-gc)|\d*)$/, parts: " " },
  { names: /^(?:NODE_PATH|NODE_REPL_EXTERNAL_MODULE)$/, why: "it loads other code into node", harmless: /^[\w.][\w./-]*$/ },
  { names: /^(?:PYTHONSTARTUP|PYTHONHOME|PYTHONINSPECT|PYTHONBREAKPOINT|PYTHONUSERBASE|PYTHONEXECUTABLE)$/, why: "it loads other code into Python", harmless: /^[01]?$/ },
  { names: /^PYTHONPATH$/,                   why: "it loads other code into Python", harmless: /^(?!\/tmp|\/dev|\/var)/ },
  { names: /^(?:PERL5OPT|PERL5LIB|PERLLIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|PHPRC|PHP_INI_SCAN_DIR|LUA_INIT.*|R_PROFILE.*|R_ENVIRON.*|ERL_\w*FLAGS|ELIXIR_ERL_OPTIONS|DOTNET_STARTUP_HOOKS|CORECLR_.*|COR_.*|GCONV_PATH|HOSTALIASES|LOCPATH|MALLOC_.*|GLIBC_TUNABLES|OPENSSL_CONF|OPENSSL_ENGINES|KRB5_CONFIG|QT_PLUGIN_PATH|GTK_MODULES|WGETRC|CURL_HOME|NETRC)$/, why: "it loads other code into programs", harmless: /^-Xm[sx]\d+[mMgG]$/ },
  { names: /^npm_config_|^NPM_CONFIG_|^YARN_|^PIP_(?:INDEX|EXTRA|CONFIG|TRUSTED)|^CARGO_(?:BUILD_RUSTC|TARGET_.*_(?:RUNNER|LINKER)|REGISTRIES)|^RUSTC(?:_WRAPPER|_WORKSPACE_WRAPPER)?$|^GOFLAGS$|^GOPROXY$|^UV_(?:INDEX|EXTRA)/, why: "it changes what a package manager loads", harmless: /^(?:0|1|true|false|silent|error|warn|info|verbose|yes|no|-mod=\w+|-count=\d+|-race|-v|direct|off|sccache|)$/ },
  { names: /^(?:HTTPS?_PROXY|ALL_PROXY|https?_proxy|all_proxy|SSL_CERT_FILE|SSL_CERT_DIR|NODE_TLS_REJECT_UNAUTHORIZED|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_NO_VERIFY|PYTHONHTTPSVERIFY|DOCKER_HOST|KUBECONFIG)$/, why: "it changes which servers programs talk to", harmless: /^$/ },
];

/** Why an assignment changes what runs; undefined if it does not. */
export function judgeAssignment({ name, value }: ShellAssignment, { words }: SimpleCommand): string | undefined {
  // It changes `~` for later commands; before a single command it affects only that one.
  if (name === "HOME" && words.length === 0) return "it changes where the home folder is";
  const row = VARIABLES.find(({ names }) => names.test(name));
  if (row === undefined) return undefined;
  const text = value.isDynamic ? value.text : value.value;
  const parts = row.parts === undefined ? [text] : text.replace(/^["']|["']$/g, "").split(row.parts);
  const isHarmless =
    parts.every((part) => row.harmless?.test(part) === true) &&
    (!value.isDynamic || name === "PATH" || name === "PYTHONPATH");
  return isHarmless ? undefined : `${row.why} (${name})`;
}

/** `export A=b` and similar builtins assign too. */
export function declaredAssignments({ words }: SimpleCommand): readonly ShellAssignment[] {
  const [name, ...rest] = words;
  if (name === undefined || !/^(?:export|declare|typeset|local|readonly)$/.test(name.value)) return [];
  return rest.flatMap((word) => {
    const equals = word.value.indexOf("=");
    if (equals <= 0) return [];
    const text = word.text.startsWith(word.value.slice(0, equals + 1)) ? word.text.slice(equals + 1) : word.text;
    return [{ name: word.value.slice(0, equals), value: { ...word, value: word.value.slice(equals + 1), text } }];
  });
}
