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
  { why: "a private key",                   paths: ["id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "id_xmss*"], except: NO_KEY, inert: true },
  { why: "a key file",                      paths: ["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.agekey", "*.keytab", "*.ovpn"], inert: true },
  { why: "a store of passwords",            paths: ["*.kdbx", "*.keychain", "*.keychain-db"], inert: true },
  { why: "a store of passwords",            paths: ["Library/Keychains", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", "/run/user/*/keyring"] },
  { why: "a store of passwords",            paths: [".config/op", ".config/1Password", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/keepassxc"] },

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
 * What some program runs or obeys later without being asked: changing it needs a person, also inside the workspace
 * (spec 3, Paths). Rows of agents and task runners come from their sources; the rest is well known. What people run on
 * purpose (package.json, Makefile, tests, sources) is everyday work and not here; neither is what programs write
 * themselves at each run (`*.pth`, `.bsp`, `.merlin`), nor what git takes no command from (`.gitmodules`). A folder that git takes for a repository by its contents alone cannot be told by its name: see
 * `looksLikeRepository`. What git's own configuration names is in `git-places.ts`.
 */
// oxfmt-ignore
export const RUN_LATER = [
  // git and other version control, at nearly every command; tools for hooks, at each commit, push or checkout.
  { why: "git runs it",                      paths: [".git/**/hooks", "*.git/hooks", ".githooks", ".config/git/hooks"] },
  { why: "it names programs that git runs",  paths: [".git/**/config", ".git/**/config.worktree", ".git/**/info/attributes", "*.git/config", "*.git/info/attributes", ".gitconfig", ".config/git/config", ".config/git/attributes"] },
  { why: "it points git to other hooks",     paths: [".git/**/commondir"] },
  { why: "it points git to other hooks",     paths: [".git"], exact: true },
  { why: "git goes on with what it says",    paths: [".git/**/rebase-merge/git-rebase-todo"], rewritten: true },
  { why: "it names programs that run on use", paths: [".hg/hgrc", ".hg/hgrc-not-shared", ".hgrc", ".config/hg", ".jj/repo/config.toml", ".jjconfig.toml", ".config/jj", ".sl/config", ".subversion/config"] },
  { why: "it runs at each commit",           paths: [".husky", ".huskyrc", ".huskyrc.*", "husky.config.*", ".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", "prek.toml", ".overcommit.yml", ".git-hooks", "captainhook.json", "grumphp.yml", "grumphp.yaml", "grumphp.yml.dist"] },
  { why: "it runs at each commit",           paths: ["lefthook.*", "lefthook-local.*", ".lefthook.*", ".lefthook-local.*", ".lefthook", ".lefthook-local", ".config/lefthook*", ".simple-git-hooks.*", "simple-git-hooks.*", ".lintstagedrc*", "lint-staged.config.*", ".rusty-hook.toml", "hk.pkl"] },
  { why: "it runs at each commit",           paths: [".commitlintrc*", "commitlint.config.*", ".nano-staged*", "nano-staged.*", ".gitlint", "cog.toml", ".config/husky"] },
  { why: "it runs at each commit",           paths: [".cargo-husky", "hk.local.pkl", ".czrc", ".cz-config.*"] },

  // Shells, when they start or enter a folder; sessions, when a person logs in; the system, at its own times.
  { why: "the shell runs it when it starts", paths: [".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".zpreztorc", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".config/fish", ".config/powershell", ".config/nushell", ".config/elvish", ".config/xonsh", ".xonshrc", ".inputrc"] },
  { why: "the shell runs it when it starts", paths: ["/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh", "/etc/environment"] },
  { why: "the shell runs it when it starts", paths: [".oh-my-zsh", ".oh-my-bash", ".bash_it", ".bash_completion", "starship.toml", ".rvmrc", ".autoenv", ".autoenv.leave", ".ondirrc"] },
  { why: "the shell runs it when it starts", paths: [".p10k.zsh", ".zimrc", ".zsh_plugins*", ".antigenrc", ".fzf.bash", ".fzf.zsh", ".bash_functions", ".bash_prompt", ".config/zsh", ".config/bash", "/etc/fish", "/etc/csh.cshrc", "/etc/csh.login", "/etc/inputrc", "/etc/skel"] },
  { why: "the shell runs it in this folder", paths: [".envrc", ".envrc.*", ".direnvrc", ".direnv", ".config/direnv", ".autoenv.zsh", ".autoenv_leave.zsh", ".local.zshrc", ".shadowenv.d"] },
  { why: "the shell runs it in this folder", paths: ["mise.toml", "mise.*.toml", ".mise.toml", ".mise.*.toml", ".mise", "mise/config.toml", "mise/config.*.toml", "mise/conf.d", ".config/mise*", ".rtx.toml", ".rtx.*.toml", ".rtx", ".asdfrc", ".flox", "devenv.nix", "devenv.yaml", "devenv.local.nix", "devenv.local.yaml", "devbox.json", ".hermit", ".pixi/config.toml", ".proto/config.toml", ".prototools"] },
  { why: "the shell runs it in this folder", paths: [".miserc.toml", ".rbenv-vars", ".nodenv-vars"] },
  { why: "a session runs it when it starts", paths: [".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".xserverrc", ".pam_environment", ".config/environment.d", ".config/autostart", ".config/hypr", ".config/sway", ".config/i3", ".tmux.conf", ".config/tmux", ".tmuxinator.yml", ".tmuxinator.yaml", ".screenrc", ".config/zellij", ".config/kitty", ".config/wezterm", ".wezterm.lua", ".config/alacritty"] },
  { why: "a session runs it when it starts", paths: [".tmuxp.*", ".byobu", ".xmonad", ".config/awesome", ".config/bspwm", ".config/openbox", ".config/qtile", ".config/niri", ".config/river", ".config/labwc", ".config/sxhkd", ".xbindkeysrc", ".config/plasma-workspace", ".local/share/applications", ".local/share/dbus-1/services", ".config/containers/systemd", ".forward", ".procmailrc", ".mailfilter"] },
  { why: "a session runs it when it starts", paths: [".tmux", ".config/waybar", ".config/polybar", ".conkyrc", ".config/conky", ".config/dunst", ".config/eww", ".config/rofi", ".config/ghostty", ".config/foot", ".config/terminator", ".hammerspoon", ".yabairc", ".skhdrc", "/etc/xdg/autostart", "/etc/X11"] },
  { why: "it runs when mail comes or goes",  paths: [".mailrc", ".msmtprc", ".mbsyncrc", ".offlineimaprc", ".fetchmailrc"] },
  { why: "the system runs it by itself",     paths: [".config/systemd/user", ".local/share/systemd/user", "Library/LaunchAgents", "Library/LaunchDaemons", "/etc/systemd", "/etc/init.d", "/etc/ld.so.preload", "/etc/ld.so.conf.d", "/etc/udev/rules.d", "/etc/rc.local"] },
  { why: "the system runs it by itself",     paths: ["/usr/lib/systemd", "/lib/systemd", "/etc/inittab", "/etc/ld.so.conf", "/etc/pam.d", "/etc/polkit-1", "/etc/dbus-1", "/etc/modprobe.d", "/etc/modules-load.d", "/etc/sysctl.d", "/etc/kernel", "/etc/initramfs-tools", "/etc/NetworkManager/dispatcher.d", "/etc/dhcp", "/etc/ppp", "/etc/acpi", "/etc/apt/apt.conf.d", "/etc/update-motd.d", "/etc/logrotate.d"] },
  { why: "it runs on a schedule",            paths: ["/etc/crontab", "/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly", "/etc/anacrontab", "/var/spool/cron", "/var/spool/at"] },
  // Debuggers, interpreters, shells of databases, mathematics and other programs, when they start, many of them in this folder.
  { why: "a program runs it when it starts", paths: [".gdbinit", ".gdbearlyinit", ".lldbinit*", ".pdbrc", ".pdbrc.py", ".perldb", ".byebugrc", ".rdbgrc", ".rdbgrc.rb", ".radare2rc", ".rprofile", ".renviron", "Rprofile.site", ".irbrc", "_irbrc", ".pryrc", ".ghci", ".ghcid", ".ocamlinit", ".iex.exs", ".erlang", ".sbclrc", ".eclrc", ".ccl-init.lisp", ".guile", ".racketrc", ".juliarc.jl", ".julia/config/startup.jl", ".octaverc"] },
  { why: "a program runs it when it starts", paths: [".psqlrc*", ".sqliterc", ".mongorc.js", ".mongoshrc.js", ".tclshrc", ".wishrc", ".expect.rc", ".psysh.php", ".ipython", ".pythonrc", ".pythonrc.py", ".ptpython", ".ammonite", ".lein/profiles.clj", ".wgetrc", ".curlrc", ".ripgreprc", ".lessfilter", ".mailcap", ".gnuplot", ".latexmkrc", "latexmkrc"] },
  { why: "a program runs it when it starts", paths: [".jupyter", "jupyter_*config.py", "jupyter_*config.json", ".local/share/jupyter/kernels", ".valgrindrc", ".muttrc", ".config/mutt", ".docker/cli-plugins", ".terraformrc", "terraform.rc", ".tofurc"] },
  { why: "a program runs it when it starts", paths: [".lesskey", ".less", ".config/lesskey", ".nanorc", ".config/nano", ".config/gdb", ".gef.rc", ".cgdb", ".jdbrc", "jdb.ini", ".rizinrc", ".config/rizin", ".perfconfig", ".config/bpython", ".swiplrc", ".config/swi-prolog", ".clisprc*", ".abclrc", ".csirc", ".gambini", ".scheme.init", ".gforthrc", ".factor-rc", ".factor-boot-rc"] },
  { why: "a program runs it when it starts", paths: [".maxima", ".gprc", ".sage", ".gaprc", ".gap", ".magmarc", ".scilab", "startup.m", "autoexec.sas", "profile.do", "renv/activate.R", ".duckdbrc", ".usqlrc", ".hiverc", ".arangosh.rc", ".myclirc", ".config/pgcli", ".config/litecli", ".proverc", ".user.ini", ".luarocks", ".tigrc", ".config/tig", ".lftprc", ".lftp", ".config/lftp"] },
  { why: "a program runs it when it starts", paths: [".config/ranger", ".config/lf", ".config/yazi", ".config/nnn", ".config/mpv", ".config/yt-dlp", ".config/newsboat", ".newsboat", ".config/qutebrowser", "ansible.cfg", ".ansible.cfg", ".vagrant.d", ".krew", ".local/share/helm/plugins", ".config/containers/containers.conf", ".config/go"] },
  { why: "Python runs it at each start",     paths: ["sitecustomize.py", "usercustomize.py", "sitecustomize", "usercustomize"], outside: ["site-packages", "dist-packages"] },
  { why: "Python runs it at each start",     paths: ["site-packages/sitecustomize.py", "site-packages/usercustomize.py", "dist-packages/sitecustomize.py", "dist-packages/usercustomize.py"] },

  // Editors and their language servers, when the folder or a file in it is opened; environments that open for a folder.
  { why: "the editor runs what it says",     paths: [".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".vscode/mcp.json", ".vscode/c_cpp_properties.json", ".vscode/cmake-kits.json", ".vscode/extensions", ".vscode/argv.json", "*.code-workspace", ".theia", ".vs", ".fleet", ".zed", ".helix", ".lapce", ".lite_project.lua"] },
  { why: "the editor runs what it says",     paths: [".idea", ".run", ".externalToolBuilders", "*.sublime-project", "*.sublime-build", ".nova", ".kateproject*"] },
  { why: "the editor runs what it says",     paths: [".vimrc", "_vimrc", ".gvimrc", ".nvimrc", ".exrc", "_exrc", ".nvim.lua", ".nvim.vim", ".lvimrc", ".local.vimrc", ".lazy.lua", ".neoconf.json", ".vim", ".config/nvim", ".config/helix", ".config/zed", ".emacs", ".emacs.el", ".emacs.d", ".config/emacs", ".dir-locals.el", ".dir-locals-2.el", ".spacemacs", ".doom.d"] },
  { why: "the editor runs what it says",     paths: ["CMakeLists.txt.user*", ".vimrc.local", ".kakrc", ".config/kak", ".config/micro"] },
  { why: "the editor runs what it says",     paths: ["pyrightconfig.json", "rust-analyzer.toml", ".rust-analyzer.toml", ".luarc.json", ".luarc.jsonc", "hie.yaml", "buildServer.json", ".sourcekit-lsp/config.json", ".lsp/config.edn", ".lsp.json", "omnisharp.json", ".solargraph.yml", ".phpactor.json", ".phpactor.yml", ".nlsp-settings"] },
  { why: "the editor runs what it says",     paths: [".project", "*.kdev4", ".ideavimrc", ".atom", ".joerc", ".jedrc", ".config/Code", ".config/VSCodium", ".config/sublime-text", ".config/JetBrains", ".vscode-server"] },
  { why: "it runs when the container opens", paths: [".devcontainer", ".devcontainer.json", ".gitpod.yml", ".gitpod.Dockerfile", ".gitpod", ".ona", ".idx", ".replit", "replit.nix", ".stackblitzrc", ".codesandbox", "devfile.yaml", ".devfile.yaml"] },

  // Services that build, at each push; bots that merge or change settings; hosts that deploy.
  { why: "CI runs what it says",             paths: [".github/workflows", ".github/actions", ".gitlab-ci.yml", ".gitlab/ci", ".forgejo/workflows", ".forgejo/actions", ".gitea/workflows", ".gitea/actions", ".circleci", ".buildkite", ".semaphore", ".teamcity", ".builds", ".tekton", ".harness", ".codefresh", "codefresh.yml", "codemagic.yaml", "bitrise.yml", "screwdriver.yaml", "wercker.yml", ".vela.yml", ".readthedocs.yml", ".readthedocs.yaml"] },
  { why: "CI runs what it says",             paths: ["Jenkinsfile", "Jenkinsfile.*", "*.Jenkinsfile", "azure-pipelines.yml", "azure-pipelines.yaml", "azure-pipelines.*", ".azure-pipelines", ".azuredevops", ".travis.yml", "bitbucket-pipelines.yml", ".drone.yml", ".drone.yaml", ".drone.star", ".drone.jsonnet", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", "appveyor.yml", ".appveyor.yml", ".cirrus.yml", ".cirrus.star", ".build.yml", "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "buildspec.yaml", ".pipelines"] },
  { why: "CI runs what it says",             paths: [".gitlab-ci*", "debian/salsa-ci.yml", "bamboo-specs", ".space.kts", ".scrutinizer.yml", "shippable.yml", ".zuul.d", ".zuul.yaml", "zuul.d", "zuul.yaml", ".prow.yaml", ".packit.yaml", ".packit.yml", ".copr", ".obs", ".kokoro", ".evergreen", ".evergreen.yml", ".yamato", ".vsts", ".vsts-ci.yml", "vsts-ci.yml", ".taskcluster.yml", ".onedev-buildspec.yml", ".agola", ".cloudbees", ".eas", "ci_scripts"] },
  { why: "a bot or a host obeys it",         paths: [".mergify.yml", ".mergify", ".github/settings.yml", ".platform", ".platform.app.yaml", ".ebextensions", "appspec.yml", "heroku.yml", "nixpacks.toml", "amplify.yml"] },

  // Package managers, at every command in this folder: where packages come from, what runs beside them, which program it is.
  { why: "a package manager loads it",       paths: [".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/plugins", ".yarn/releases", ".yarn/sdks", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js", ".pnp.cjs", ".pnp.loader.mjs", "bunfig.toml", ".bunfig.toml", ".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml", ".gemrc", ".bundle/config", ".bundle/plugin", "pip.conf", "pip.ini", ".pydistutils.cfg", ".mvn", ".bazelrc", ".bazeliskrc", "tools/bazel", ".buckconfig", ".buckconfig.d", ".condarc", ".mambarc", ".config/pip", ".config/uv", ".sbtopts", ".jvmopts", ".corepack.env", ".config/nix"] },
  { why: "a package manager loads it",       paths: ["gradle/wrapper", ".gradle/init.gradle*", ".gradle/init.d"] },
  { why: "a package manager loads it",       paths: ["nuget.config", "uv.toml", ".bazelversion", ".buckconfig.local", ".pants.rc", ".swiftpm/configuration", ".config/pypoetry", ".cabal/config", ".config/cabal", ".stack/config.yaml", ".sbt/*/plugins", ".clojure/deps.edn", ".config/rebar3", ".cpan/CPAN", ".opamrc", ".conan/hooks", ".conan2/extensions", ".nixpkgs", ".config/nixpkgs", ".config/guix"] },
  // Agents, when they start in this folder: servers and hooks that they run, rules, skills. Folders as installers of skills know them.
  { why: "it configures an agent",           paths: [".agent", ".agents", ".mcp.json", ".claude", ".claude.json", ".claude-plugin", ".cursor", ".gemini", ".codex", ".opencode", "opencode.json", "opencode.jsonc", ".windsurf", ".codeium", ".kiro", ".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json", ".continue", ".continuerc.json", ".roo", ".roomodes", ".zoocode", ".kilo", ".kilocode", ".kilocodemodes", "kilo.json", "kilo.jsonc", ".cline", ".amazonq", ".amp", ".qwen", ".crush", ".crush.json", "crush.json", ".crushrc", "crushrc", ".goose", ".junie", ".trae", ".factory", ".augment", ".warp", ".antigravity"] },
  { why: "it configures an agent",           paths: [".ai", ".aiassistant", ".copilot", ".github/copilot", ".github/hooks", ".devin", ".grok", ".kimi", ".kimi-code", ".hermes", ".deepagents", ".rovodev", ".pi", ".vibe", ".reasonix", "reasonix.toml", ".takt", ".openhands", ".sourcegraph", ".tabnine", ".codebuddy", ".qoder", ".gptme.toml", "gptme.toml", "firebender.json", ".firebender", ".rulesync", "rulesync.jsonc", ".ruler", ".coderabbit.yaml", ".coderabbit.yml", "greptile.json", ".pr_agent.toml"] },
  { why: "it configures an agent",           paths: [".aider-desk", ".astrbot", ".autohand", ".bob", ".openclaw", ".clawdbot", ".moltbot", ".codeartsdoer", ".codemaker", ".codestudio", ".codewhale", ".commandcode", ".cortex", ".dexto", ".forge", ".fx", ".inferencesh", ".jazz", ".iflow", ".kimchi", ".kode", ".lingma", ".loaf", ".mcpjam", ".minimax", ".moxby", ".mux", ".posit/assistant", ".positai", ".qoder-cn", ".sarvam", ".terramind", ".tinycloud", ".trae-cn", ".zcode", ".zencoder", ".neovate", ".pochi", ".promptscript", "promptscript.yaml", ".adal"] },
  { why: "it configures an agent",           paths: [".mcp", "mcp.json", "mcp-config.json", "mcp_config.json", "claude_desktop_config.json", ".config/agents", ".config/amp", ".config/opencode", ".config/goose", ".config/crush", ".config/devin", ".config/kimchi", ".snowflake/cortex", ".ralphex", ".codev", ".af-cron"] },
  // Agents, when they start or touch a file beside it: what it says is taken for the person's word.
  { why: "agents take orders from it",       paths: ["AGENTS.md", "AGENTS.*.md", "AGENT.md", "CLAUDE.md", "CLAUDE.*.md", "GEMINI.md", "GEMINI.*.md", "QWEN.md", "QWEN.*.md", "CRUSH.md", "CRUSH.*.md", "WARP.md", "CODEX.md", "OPENCODE.md", "REASONIX.md", "BUGBOT.md", "REPLIT.md", "IFLOW.md", "KIMI.md", "SOUL.md", "HEARTBEAT.md", "APPEND_SYSTEM.md", ".hermes.md", ".review-agent.md", "airules.md"], outside: ["node_modules", "site-packages"] },
  { why: "agents take orders from it",       paths: [".cursorrules", ".clinerules*", ".windsurfrules", ".roorules*", ".kilocoderules*", ".rules", ".goosehints", ".augment-guidelines", ".continuerules", ".openhands_instructions", ".github/copilot-instructions.md", ".github/instructions", ".github/prompts", ".github/chatmodes", ".github/agents", ".github/skills", ".github/git-commit-instructions.md", ".github/pull_request_review_instructions.md"] },
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

/** Folders of settings that commands have no reason to write to: read-only as folders, so that replaced and new files are too. */
export const FIXED_FOLDERS: ReadonlySet<string> = new Set([".vscode", ".idea", ".cargo", ".bundle"]);
