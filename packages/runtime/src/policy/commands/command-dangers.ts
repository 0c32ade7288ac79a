/**
 * "destructive": denied in every profile. "risky": needs approval. "undoable": needs approval if undo does not cover
 * it.
 */
export type DangerLevel = "destructive" | "risky" | "undoable";

/** A row matches a command whose words begin like `run` and that meets all other conditions. */
export interface Danger {
  /** The program, and the words that must follow as its first operands: "git push". `|` between choices. */
  readonly run: string;
  /** At least one of these options is present. */
  readonly with?: readonly string[];
  /** The value of that option matches. */
  readonly value?: RegExp;
  /** None of these options is present. */
  readonly without?: readonly string[];
  /** An operand matches. */
  readonly operand?: RegExp;
  readonly level: DangerLevel;
  /** A clause about the command: "it publishes". */
  readonly why: string;
}

const DRY_RUN_OPTIONS = ["--dry-run", "--help", "-h", "--version"];

/** The machine itself: stopping it, erasing its disks, locking people out. No work in a workspace needs these. */
// oxfmt-ignore
const MACHINE: readonly Danger[] = [
  { run: "shutdown|reboot|halt|poweroff|telinit", without: ["--help", "--version", "-c"], level: "destructive", why: "it stops the machine" },
  { run: "init 0|1|6|S|s",                                          level: "destructive", why: "it stops the machine" },
  { run: "systemctl|loginctl poweroff|reboot|halt|kexec|suspend|hibernate|emergency|rescue|soft-reboot|exit", level: "destructive", why: "it stops the machine" },
  { run: "mkfs|mke2fs|mkfs.ext2|mkfs.ext3|mkfs.ext4|mkfs.xfs|mkfs.btrfs|mkfs.vfat|mkfs.fat|mkfs.ntfs|mkfs.f2fs|mkfs.minix|mkfs.msdos|mkfs.exfat|mkfs.jfs|mkfs.reiserfs|mkdosfs|mkntfs|mkreiserfs|mkswap|newfs", without: ["--help", "-V", "--version"], level: "destructive", why: "it formats a file system" },
  { run: "wipefs",     with: ["-a", "--all", "-o", "--offset"],     level: "destructive", why: "it erases the signatures of a disk" },
  { run: "blkdiscard|nwipe|badblocks|scrub|hdparm", operand: /^\/dev\//, level: "destructive", why: "it erases a disk" },
  { run: "fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted|partprobe", operand: /^\/dev\//, without: ["-l", "--list", "-p", "--print"], level: "destructive", why: "it changes the partitions of a disk" },
  { run: "cryptsetup luksFormat|erase|luksErase|reencrypt",         level: "destructive", why: "it erases a disk" },
  { run: "lvremove|vgremove|pvremove|lvreduce|mdadm", without: ["--detail", "-D", "--examine", "--query", "-Q", "--help"], level: "destructive", why: "it removes volumes" },
  { run: "zpool destroy|labelclear",                                level: "destructive", why: "it removes volumes" },
  { run: "zfs destroy|rollback",                                    level: "destructive", why: "it removes volumes" },
  { run: "btrfs subvolume delete",                                  level: "destructive", why: "it removes volumes" },
  { run: "nvme format|sanitize",                                    level: "destructive", why: "it erases a disk" },
  { run: "swapoff|rmmod|insmod|kexec",                              level: "destructive", why: "it changes the running kernel" },
  { run: "modprobe",   with: ["-r", "--remove"],                    level: "destructive", why: "it changes the running kernel" },
  { run: "sysctl",     with: ["-w", "--write"],                     level: "destructive", why: "it changes the running kernel" },
  { run: "sysctl",     operand: /=/,                                level: "destructive", why: "it changes the running kernel" },
  { run: "iptables|ip6tables|iptables-legacy|ip6tables-legacy|iptables-nft", with: ["-F", "--flush", "-X", "-P", "--policy"], level: "destructive", why: "it disables the firewall" },
  { run: "nft flush",                                               level: "destructive", why: "it disables the firewall" },
  { run: "ufw disable|reset",                                       level: "destructive", why: "it disables the firewall" },
  { run: "userdel|deluser|groupdel|delgroup",                       level: "destructive", why: "it removes an account" },
  { run: "crontab",    with: ["-r"],                                level: "destructive", why: "it removes every scheduled job" },
  { run: "passwd|usermod", with: ["-l", "-d", "-L", "--lock", "--delete"], level: "destructive", why: "it locks an account" },
  { run: "umount",     with: ["-a", "--all"],                       level: "destructive", why: "it unmounts file systems" },
  { run: "umount|fusermount", operand: /^\/(?:$|usr|home|var|boot|etc|proc|sys|dev)/, level: "destructive", why: "it unmounts file systems" },
  { run: "efibootmgr", with: ["-B", "--delete-bootnum", "-b", "-o"], level: "destructive", why: "it changes how the machine starts" },
  { run: "grub-install|update-grub|grub2-mkconfig|dracut|update-initramfs", level: "destructive", why: "it changes how the machine starts" },
  { run: "killall5",                                                level: "destructive", why: "it kills every process" },
  { run: "pkill|killall", operand: /^(?:init|systemd|\.\*?|\.)$/,   level: "destructive", why: "it kills every process" },
  { run: "pkill|killall", with: ["-u", "--uid", "--euid", "-U", "--user"], operand: /^root$/, level: "destructive", why: "it kills every process" },
  { run: "vssadmin|diskpart|format.com",                            level: "destructive", why: "it erases a disk" },
  { run: "diskutil eraseDisk|eraseVolume|partitionDisk|zeroDisk|secureErase|reformat", level: "destructive", why: "it erases a disk" },
];

/** Visible to other people, or changes what they use. */
// oxfmt-ignore
const PUBLISHES: readonly Danger[] = [
  { run: "git push",                                   without: ["--dry-run", "-n"], level: "risky", why: "it publishes to another repository" },
  { run: "git send-email",                                              level: "risky", why: "it publishes to others" },
  { run: "svn commit|ci|delete|copy",                                   level: "risky", why: "it publishes to others" },
  { run: "hg push",                                                     level: "risky", why: "it publishes to another repository" },
  { run: "jj git push",                                                 level: "risky", why: "it publishes to another repository" },
  { run: "npm|yarn|pnpm|bun|lerna|jsr|vsce|ovsx|deno publish|unpublish|deprecate|dist-tag|owner|access|token|adduser|login|logout", without: DRY_RUN_OPTIONS, level: "risky", why: "it publishes a package or changes an account" },
  { run: "yarn npm publish|tag|login|logout",          without: DRY_RUN_OPTIONS,  level: "risky", why: "it publishes a package or changes an account" },
  { run: "changeset|changesets publish",                                level: "risky", why: "it publishes a package" },
  { run: "semantic-release|release-it|np|goreleaser",  without: DRY_RUN_OPTIONS,  level: "risky", why: "it publishes a release" },
  { run: "cargo publish|yank|owner|login|logout",      without: DRY_RUN_OPTIONS,  level: "risky", why: "it publishes a package" },
  { run: "twine|flit|maturin upload|publish|register",                  level: "risky", why: "it publishes a package" },
  { run: "poetry|uv|hatch|pdm publish",                without: DRY_RUN_OPTIONS,  level: "risky", why: "it publishes a package" },
  { run: "gem push|yank|owner|signin",                                  level: "risky", why: "it publishes a package" },
  { run: "mvn|mvnw deploy|release:perform|release:prepare",             level: "risky", why: "it publishes a package" },
  { run: "gradle|gradlew publish|publishToMavenCentral|publishPlugins|uploadArchives|closeAndReleaseRepository", level: "risky", why: "it publishes a package" },
  { run: "dotnet nuget push|delete",                                    level: "risky", why: "it publishes a package" },
  { run: "nuget|pod|trunk push|delete",                                 level: "risky", why: "it publishes a package" },
  { run: "docker|podman|nerdctl|buildah|skopeo|crane|helm|oras push|login|logout|copy", level: "risky", why: "it publishes an image" },
  { run: "docker image|manifest|compose|trust push",                    level: "risky", why: "it publishes an image" },
  { run: "docker|podman buildx build",                 with: ["--push"], level: "risky", why: "it publishes an image" },
  { run: "docker|podman build",                        with: ["--push"], level: "risky", why: "it publishes an image" },
  { run: "gh release|repo|secret|variable|ssh-key|gpg-key|workflow|auth|gist|api|extension create|delete|edit|upload|set|add|remove|run|login|logout|archive|rename|disable|enable|fork|sync|token|refresh|install", level: "risky", why: "it changes what others see" },
  { run: "gh pr|issue|run|label|project create|merge|close|comment|review|edit|reopen|delete|ready|lock|transfer|cancel|rerun|pin", level: "risky", why: "it changes what others see" },
  { run: "gh api",   with: ["-X", "--method", "-f", "-F", "--field", "--raw-field", "--input"], level: "risky", why: "it changes what others see" },
  { run: "glab|hub|tea mr|issue|release|pr|repo|pull-request create|merge|close|delete|note|approve", level: "risky", why: "it changes what others see" },
  { run: "terraform|tofu|terragrunt|pulumi apply|destroy|up|import|taint|untaint|refresh|force-unlock|cancel", level: "risky", why: "it changes running systems" },
  { run: "terraform|tofu|pulumi state|workspace|stack rm|mv|push|delete|replace-provider", level: "risky", why: "it changes the stored state of running systems" },
  { run: "kubectl|oc delete|apply|create|replace|patch|edit|scale|rollout|drain|cordon|uncordon|taint|label|annotate|set|exec|cp|run|expose|autoscale|evict|debug|attach|port-forward|proxy", without: ["--dry-run", "--help", "-h"], level: "risky", why: "it changes running systems" },
  { run: "helm|helmfile install|upgrade|uninstall|delete|rollback|apply|sync|destroy", without: ["--dry-run"], level: "risky", why: "it changes running systems" },
  { run: "flux|argocd|skaffold|kustomize delete|create|apply|sync|deploy|run|app|suspend|resume", level: "risky", why: "it changes running systems" },
  { run: "ansible|ansible-playbook|salt|chef-client|puppet|fab|cap", without: ["--check", "-C", "--version", "--help", "--syntax-check", "--list-hosts"], level: "risky", why: "it changes other machines" },
  { run: "aws|gcloud|az|doctl|heroku|flyctl|fly|vercel|netlify|wrangler|firebase|railway|render|linode-cli|hcloud|scw|oci|ibmcloud|cf|eb|sam|cdk|serverless|sls|surge|amplify|supabase|now", without: ["--version", "--help", "-v"], level: "risky", why: "it changes remote systems" },
  { run: "s3cmd|rclone|gsutil|mc|b2|azcopy",           without: ["--version", "--help"], level: "risky", why: "it moves files to or from remote storage" },
  { run: "mail|mailx|mutt|sendmail|msmtp|swaks|telegram-send|slack|ntfy|wall",  level: "risky", why: "it sends a message" },
];

/** Loses work, or rewrites history that others have seen. */
// oxfmt-ignore
const LOSES_WORK: readonly Danger[] = [
  { run: "git init|clone",   with: ["--template", "--separate-git-dir", "--config", "-c", "--upload-pack", "-u", "--recurse-submodules", "--recursive"], level: "risky", why: "it creates a repository whose settings can run commands later" },
  { run: "git reset",        with: ["--hard", "--merge", "--keep"],     level: "undoable", why: "it discards changes" },
  { run: "git clean",        with: ["-f", "--force", "-x", "-X", "-d"], without: ["-n", "--dry-run"], level: "undoable", why: "it deletes untracked files" },
  { run: "git checkout|switch", with: ["-f", "--force", "--discard-changes", "-B", "-C", "--orphan"], level: "undoable", why: "it discards changes" },
  { run: "git checkout",     operand: /^(?:\.|\.\/|:\/|\*|:\(top\).*)$/, level: "undoable", why: "it discards changes" },
  { run: "git restore",      without: ["--staged", "-S"],               level: "undoable", why: "it discards changes" },
  { run: "git restore",      with: ["--worktree", "-W"],                level: "undoable", why: "it discards changes" },
  { run: "git branch",       with: ["-D", "-d", "--delete", "-M", "-f", "--force"], level: "undoable", why: "it removes or moves a branch" },
  { run: "git tag",          with: ["-d", "--delete", "-f", "--force"], level: "undoable", why: "it removes or moves a tag" },
  { run: "git stash drop|clear",                                        level: "undoable", why: "it discards stashed changes" },
  { run: "git rebase",       without: ["--abort", "--continue", "--skip", "--quit", "--show-current-patch", "--edit-todo"], level: "undoable", why: "it rewrites history" },
  { run: "git commit",       with: ["--amend"],                         level: "undoable", why: "it rewrites history" },
  { run: "git filter-branch|filter-repo|replace|fast-import",           level: "risky", why: "it rewrites history" },
  { run: "git update-ref|symbolic-ref",                                 with: ["--stdin"], level: "risky", why: "it rewrites history" },
  { run: "git update-ref",                                              level: "undoable", why: "it moves or removes a branch" },
  { run: "git symbolic-ref",                                            with: ["-d", "--delete"], level: "undoable", why: "it moves or removes a branch" },
  { run: "git read-tree",    with: ["--reset", "-u"],                   level: "undoable", why: "it discards changes" },
  { run: "git checkout-index", with: ["-f", "--force"],                 level: "undoable", why: "it discards changes" },
  { run: "git reflog expire|delete",                                    level: "risky", why: "it removes data needed to recover lost work" },
  { run: "git gc|prune",     with: ["--prune", "--aggressive", "-n"],   level: "risky", why: "it removes data needed to recover lost work" },
  { run: "git prune",                                                   without: ["-n", "--dry-run"], level: "risky", why: "it removes data needed to recover lost work" },
  { run: "git worktree remove|prune",                                   level: "risky", why: "it removes a working folder" },
  { run: "git remote remove|rm|set-url|rename|prune",                   level: "risky", why: "it changes where git pushes to and fetches from" },
  { run: "git submodule deinit",                                        level: "undoable", why: "it removes a working folder" },
  { run: "git rm",           with: ["-r"],  without: ["--cached", "-n", "--dry-run"], level: "undoable", why: "it deletes files" },
  { run: "bfg|git-filter-repo",                                         level: "risky", why: "it rewrites history" },
  { run: "hg strip|update|purge|revert",                                level: "undoable", why: "it discards changes" },
  { run: "docker|podman system|volume|image|container|network|builder prune|rm|remove", level: "risky", why: "it removes containers, images or data" },
  { run: "docker|podman|nerdctl rm|rmi|kill|stop|update|import|load|swarm|secret|node|service|stack", level: "risky", why: "it removes or changes containers, images or data" },
  { run: "docker|podman compose down|rm|kill",                          level: "risky", why: "it removes containers or data" },
  { run: "docker-compose down|rm|kill",                                 level: "risky", why: "it removes containers or data" },
  { run: "docker|podman|nerdctl run|create",                            with: ["--privileged", "-v", "--volume", "--mount", "--pid", "--cap-add", "--device", "--userns", "--ipc"], level: "risky", why: "it gives a container access to this machine" },
  { run: "dropdb|dropuser|mysqladmin|mongodump|redis-cli",              operand: /^(?!ping$|info$|get$|keys$)./i, level: "risky", why: "it changes a database" },
  { run: "sqlite3|sqlite|duckdb",                                       operand: SQL_LOSS(), level: "undoable", why: "it deletes from a database" },
  { run: "psql|mysql|mariadb|clickhouse-client|cqlsh|mongosh|mongo|influx|bq|snowsql", operand: SQL_LOSS(), level: "risky", why: "it deletes from a database" },
  { run: "rails|rake|artisan|prisma|alembic|sequelize|knex|typeorm|flyway|liquibase|dbmate|goose|manage.py db:drop|db:reset|db:purge|migrate:fresh|migrate:reset|migrate:rollback|flush|clean|drop-all|downgrade|schema:drop", level: "risky", why: "it deletes from a database" },
  { run: "history",          with: ["-c", "-d", "-w"],                  level: "risky", why: "it removes the shell history" },
  { run: "journalctl",       with: ["--vacuum-time", "--vacuum-size", "--vacuum-files", "--rotate"], level: "risky", why: "it removes the machine's log" },
  { run: "logrotate",        with: ["-f", "--force"],                   level: "risky", why: "it removes logs" },
];

function SQL_LOSS(): RegExp {
  return /\b(?:drop\s+(?:table|database|schema|user|index|view|collection|keyspace)|truncate\s|delete\s+from|dropDatabase|deleteMany|flushall|alter\s+table\s+\S+\s+drop)/i;
}

/** Permissions, and what runs on this machine. */
// oxfmt-ignore
const MACHINE_STATE: readonly Danger[] = [
  { run: "sudo|doas|su|pkexec|gosu|su-exec|runuser|setpriv|sudoedit|visudo|newgrp|sg",   without: ["--version", "--help"], level: "risky", why: "it changes to another user" },
  { run: "setcap|setfacl|chattr|chcon|semanage|setsebool|setenforce|aa-disable|aa-complain|restorecon", level: "risky", why: "it changes permissions" },
  { run: "chown|chgrp",                                                 level: "risky", why: "it changes who owns files" },
  { run: "chmod",      operand: /^(?:[0-7]?777|[0-7]?666|[2467][0-7]{3}|[ugoa]*[+=][rwxX]*[st][rwxXst]*|[oa]*[+=][rx]*w[rwx]*)$/, level: "risky", why: "it gives permissions to everyone" },
  { run: "chroot|unshare|nsenter|bwrap|machinectl|ip|tc|ifconfig|route|brctl|nmcli|iwconfig|ethtool", without: ["--help", "--version"], operand: /^(?!a$|addr$|address$|link$|route$|r$|show$|-br$|neigh$|list$)./, level: "risky", why: "it changes the namespaces or network of this machine" },
  { run: "iptables|ip6tables|nft|ufw|firewall-cmd|ebtables",            without: ["-L", "--list", "-S"], level: "risky", why: "it changes the firewall" },
  { run: "mount|umount|losetup|cryptsetup|fusermount|sshfs|swapon|setquota|quotaon", operand: /./, level: "risky", why: "it changes what is mounted" },
  { run: "useradd|adduser|usermod|groupadd|groupmod|addgroup|gpasswd|passwd|chpasswd|chsh|chfn|chage", level: "risky", why: "it changes accounts" },
  { run: "systemctl|service|rc-service|initctl|launchctl|sv|supervisorctl start|stop|restart|reload|enable|disable|mask|unmask|kill|edit|daemon-reload|set-default|isolate|load|unload|bootout|set-property|reset-failed|revert|link|remove|shutdown", level: "risky", why: "it changes what runs on this machine" },
  { run: "service",    operand: /^(?:start|stop|restart|reload|force-reload)$/, level: "risky", why: "it changes what runs on this machine" },
  { run: "update-rc.d|chkconfig|update-alternatives|alternatives|ldconfig|depmod|timedatectl|hostnamectl|localectl|hwclock|resolvectl", operand: /^(?!status$|show$)./, level: "risky", why: "it changes the configuration of this machine" },
  { run: "crontab",    without: ["-l"],                                 level: "risky", why: "it changes what runs on a schedule" },
  { run: "at|batch|atrm|anacron|systemd-run",                           without: ["-l", "--help"], level: "risky", why: "it runs something later or in the background" },
  { run: "pkill|killall|xkill|skill|snice|fuser",                       without: ["-l", "--list", "--help"], level: "risky", why: "it kills processes by name" },
  { run: "renice|ptrace|gdb|strace|ltrace|reptyr|gcore", with: ["-p", "--pid", "--attach"], level: "risky", why: "it attaches to another process" },
  { run: "apt|apt-get|aptitude|dnf|yum|zypper|apk|microdnf|rpm-ostree|xbps-install|emerge|urpmi|slackpkg|eopkg|swupd|tdnf install|remove|purge|upgrade|dist-upgrade|full-upgrade|autoremove|update|add|del|reinstall|downgrade|erase|in|rm|up|source|build-dep|clean|autoclean|groupinstall|module", level: "risky", why: "it changes the programs installed on this machine" },
  { run: "pacman|yay|paru", with: ["-S", "-R", "-U", "-D", "--sync", "--remove", "--upgrade"], level: "risky", why: "it changes the programs installed on this machine" },
  { run: "dpkg|rpm",   with: ["-i", "-r", "-P", "-e", "-U", "-F", "--install", "--remove", "--purge", "--erase", "--upgrade", "--configure"], level: "risky", why: "it changes the programs installed on this machine" },
  { run: "brew|port|snap|flatpak|nix-env|guix|choco|scoop|winget|mas install|uninstall|remove|upgrade|reinstall|tap|untap|link|unlink|services|refresh|cleanup|autoremove|rm", level: "risky", why: "it changes the programs installed on this machine" },
  { run: "nix-env|nix-collect-garbage|nix-store|nixos-rebuild",         with: ["-i", "-e", "-u", "-d", "--delete-old", "--gc", "--delete", "-iA"], level: "risky", why: "it changes the programs installed on this machine" },
  { run: "npm|pnpm|bun install|i|add|uninstall|remove|rm|un|update|link", with: ["-g", "--global", "--location"], level: "risky", why: "it changes the programs installed on this machine" },
  { run: "npm|npx|pnpm|yarn", with: ["--script-shell", "--node-options", "--init-module", "--globalconfig", "--userconfig"], level: "risky", why: "it runs scripts with another program or other settings" },
  { run: "yarn global",                                                 level: "risky", why: "it changes the programs installed on this machine" },
  { run: "pip|pip3 install|uninstall", with: ["--break-system-packages", "--target", "--root", "--prefix"], level: "risky", why: "it changes the programs installed on this machine" },
  { run: "rustup|nvm|pyenv|rbenv|volta|fnm|sdk|asdf|mise uninstall|self|default|global", level: "risky", why: "it changes the programs installed on this machine" },
  { run: "docker|podman plugin|context|swarm install|create|use|rm|init|join|leave", level: "risky", why: "it changes how containers run" },
  { run: "reptyr|screen|tmux", operand: /^(?:send-keys|send|stuff|attach|attach-session)$/, level: "risky", why: "it controls another terminal" },
];

/** Talks to other machines. The sandbox blocks the network; without one, approval is needed. */
// oxfmt-ignore
const NETWORK: readonly Danger[] = [
  { run: "ssh|mosh|telnet|ftp|sftp|rlogin|rsh|lftp|tftp|ssh-copy-id|sshpass|autossh", without: ["-V", "--version", "--help"], level: "risky", why: "it connects to another machine" },
  { run: "scp|rsync|unison|croc|wormhole|magic-wormhole|transfer.sh", operand: /^(?![./~])[^/\s]+:|^(?:rsync|ssh|sftp):\/\//, level: "risky", why: "it moves files to or from another machine" },
  { run: "croc|wormhole|magic-wormhole send|receive",                    level: "risky", why: "it moves files to or from another machine" },
  { run: "nc|ncat|netcat|socat|nmap|masscan|hping3|tcpdump|tshark|ettercap|arpspoof|aircrack-ng|hydra|sqlmap|nikto|msfconsole|john|hashcat", without: ["-h", "--help", "--version", "-z"], level: "risky", why: "it opens network connections that cannot be inspected" },
  { run: "ngrok|cloudflared|localtunnel|lt|bore|frpc|chisel|tailscale|wg|wg-quick|openvpn|zerotier-cli|localhost.run|serveo", without: ["--version", "--help"], level: "risky", why: "it opens this machine to others" },
  { run: "curl|curlie",  with: ["-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--data-ascii", "-F", "--form", "--form-string", "-T", "--upload-file", "--json", "--url-query"], level: "risky", why: "it sends data to another machine" },
  { run: "curl|wget|http|https|xh", with: ["-X", "--request", "--method"], value: /^(?!GET$|HEAD$|OPTIONS$)/i, level: "risky", why: "it may change something on another machine" },
  { run: "wget",         with: ["--post-data", "--post-file", "--body-data", "--body-file", "--method"], level: "risky", why: "it sends data to another machine" },
  { run: "http|https|xh|httpie POST|PUT|PATCH|DELETE",                   level: "risky", why: "it sends data to another machine" },
  { run: "curl|wget",    with: ["-K", "--config", "--proxy-insecure"],   level: "risky", why: "it reads options from a file" },
  { run: "gpg|gpg2",     with: ["--delete-secret-keys", "--delete-keys", "--send-keys", "--export-secret-keys", "--export-secret-subkeys", "--gen-key"], level: "risky", why: "it changes or shows keys" },
  { run: "security|secret-tool|pass|op|bw|vault|keyctl|ssh-add|ssh-keygen|kinit|gh-auth", without: ["--version", "--help", "-l"], level: "risky", why: "it uses keys or passwords" },
  { run: "xdg-open|open|xclip|xsel|pbcopy|wl-copy|osascript|gsettings|dconf|xdotool|ydotool", level: "risky", why: "it acts outside the workspace" },
];

export const COMMAND_DANGERS: readonly Danger[] = [
  ...MACHINE,
  ...PUBLISHES,
  ...LOSES_WORK,
  ...MACHINE_STATE,
  ...NETWORK,
];
