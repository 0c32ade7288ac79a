/**
 * Names that, among the words of another program, are most likely a program to run: `chronic rm -rf x`. Names that are
 * also everyday words or subcommands (`install`, `test`, `service`, `link`) are not listed.
 */
// oxfmt-ignore
const PROGRAMS = new Set([
  "rm", "rmdir", "unlink", "shred", "srm", "wipe", "dd", "mv", "cp", "ln", "chmod", "chown", "chgrp", "chattr", "setfacl", "tee", "truncate", "rsync", "find", "fd", "fdfind",
  "xargs", "parallel", "sudo", "doas", "su", "pkexec", "env", "nohup", "setsid", "timeout", "stdbuf", "nice", "ionice", "busybox", "toybox", "eval", "exec", "command", "chroot", "unshare", "nsenter",
  "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "rbash", "mksh", "pwsh", "python", "python2", "python3", "perl", "ruby", "node", "nodejs", "php", "lua", "tclsh", "awk", "gawk", "sed",
  "curl", "wget", "nc", "ncat", "netcat", "socat", "ssh", "scp", "git", "npm", "npx", "docker", "podman", "kubectl", "crontab", "killall", "pkill", "killall5",
  "shutdown", "reboot", "halt", "poweroff", "telinit", "systemctl", "mkfs", "mke2fs", "mkswap", "wipefs", "blkdiscard", "fdisk", "sfdisk", "parted", "cryptsetup", "mount", "umount", "insmod", "rmmod", "modprobe",
  "sgdisk", "gdisk", "cfdisk", "partprobe", "zpool", "zfs", "lvremove", "vgremove", "pvremove", "lvreduce", "mdadm", "btrfs", "nvme", "hdparm", "badblocks", "scrub", "nwipe", "swapoff", "kexec", "efibootmgr", "grub-install", "deluser", "delgroup", "groupdel", "newfs", "mkdosfs", "mkntfs", "tune2fs", "dropdb", "rimraf", "trash", "diskutil", "vssadmin",
  "iptables", "ip6tables", "nft", "useradd", "userdel", "usermod", "passwd", "visudo", "sysctl", "vim", "ed", "ex", "emacs", "gdb", "cmake", "sqlite3",
]);

const LOADER = /^ld(?:-linux|-musl)?[\w.-]*\.so(?:\.\d+)?$/;
const VERSIONED =
  /(?<=^(?:python|pypy|perl|ruby|lua|php|node|nodejs|tclsh|wish|bash|ksh|zsh|vim|gcc|g\+\+|clang|clang\+\+|emacs))-?\d[\d.]*$/;
/** `arm-none-eabi-gcc`, `x86_64-linux-gnu-g++`. */
const CROSS = /^[\w.]+-(?:[\w.]+-){1,3}(?=(?:gcc|g\+\+|cc|c\+\+|clang|gdb|ld|objcopy|strip)$)/;

/** `python3.11`, `gcc-13` and `ld-linux-x86-64.so.2` are recognized without their version. */
export function plainName(name: string): string {
  // Most names have neither a version nor a target.
  if (!/[\d-]|\.so/.test(name)) return name;
  if (LOADER.test(name)) return "ld.so";
  return name.replace(CROSS, "").replace(VERSIONED, "");
}

export function baseName(value: string): string {
  return value.slice(value.lastIndexOf("/") + 1);
}

export function isProgramName(value: string): boolean {
  const base = baseName(value);
  return PROGRAMS.has(base) || base.startsWith("mkfs.") || PROGRAMS.has(plainName(base)) || LOADER.test(base);
}

/** A path to a system program; no other word looks like that. */
export function isProgramPath(value: string): boolean {
  return /^\/(?:usr\/(?:local\/)?)?s?bin\//.test(value);
}

/**
 * Programs known to be harmless: they read, print, compare or name their input and run none of it, or the parts that
 * they would run are examined word by word (git, sed, find). A command's name among their words is text.
 */
// oxfmt-ignore
const PLAIN_PROGRAMS = new Set([
  "ls", "cat", "tac", "head", "tail", "wc", "pwd", "echo", "printf", "true", "false", "test", "[", ":", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "ug", "stat", "file", "du", "df", "ps", "id", "whoami",
  "groups", "uname", "arch", "date", "cal", "which", "whereis", "whatis", "apropos", "type", "hash", "help", "man", "info", "tldr", "cheat", "basename", "dirname", "realpath", "readlink", "cut", "tr", "uniq", "sort", "comm", "join", "paste",
  "diff", "sdiff", "diff3", "cmp", "colordiff", "delta", "difft", "nl", "od", "hexdump", "hd", "xxd", "strings", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "shasum",
  "seq", "shuf", "factor", "sleep", "expr", "bc", "numfmt", "jq", "gojq", "jaq", "yq", "xq", "tomlq", "dasel", "gron", "xsv", "csvcut", "csvlook", "csvgrep", "csvstat", "xmllint", "xmlstarlet", "tidy", "htmlq", "pup",
  "tree", "eza", "exa", "lsd", "bat", "batcat", "less", "more", "most", "column", "fold", "fmt", "expand", "unexpand", "rev", "iconv", "uconv", "dos2unix", "unix2dos", "base64", "base32", "basenc", "look", "locate", "plocate", "mlocate",
  "hostname", "uptime", "free", "vmstat", "lscpu", "lsblk", "lsof", "lsusb", "lspci", "top", "htop", "pgrep", "pidof", "pstree", "nproc", "getconf", "locale", "tty", "stty", "tput", "clear", "reset", "who", "w", "last", "users",
  "cd", "pushd", "popd", "dirs", "export", "declare", "typeset", "local", "readonly", "unset", "read", "getopts", "let", "wait", "mapfile", "readarray", "set", "shift", "shopt", "enable", "complete", "compgen", "bind", "alias", "unalias",
  "fc", "return", "exit", "break", "continue", "umask", "ulimit", "times", "jobs", "fg", "bg", "disown", "logout", "history", "trap", "getent", "printenv", "yes", "cowsay", "figlet", "toilet", "lolcat", "fortune", "notify-send", "say", "logger",
  "rm", "rmdir", "unlink", "shred", "srm", "mv", "cp", "ln", "mkdir", "touch", "tee", "sponge", "truncate", "chmod", "chown", "chgrp", "chattr", "setfacl", "mktemp", "mkfifo", "dd", "install", "link", "trash", "kill", "pkill", "killall",
  "git", "gh", "glab", "hub", "tig", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "original-awk", "find", "gfind", "bfs", "fd", "fdfind", "xargs", "gxargs", "parallel", "ssh", "mosh", "curl", "wget", "dig", "host", "nslookup", "ping", "http", "https", "xh",
  "apt-cache", "dpkg-query", "dpkg", "rpm", "apk", "pacman", "ldd", "nm", "objdump", "readelf", "size", "otool", "shellcheck", "shfmt", "hadolint", "actionlint", "yamllint", "jsonlint", "markdownlint", "markdownlint-cli2", "vale", "aspell", "hunspell", "codespell", "cspell", "typos",
  "gzip", "gunzip", "zcat", "bzip2", "bunzip2", "xz", "unxz", "zstd", "lz4", "unzip", "zipinfo", "ar", "cpio", "split", "csplit", "patch", "diffstat", "ctags", "cloc", "tokei", "scc", "wdiff", "pv", "pr", "errno", "ascii", "nohup-out", "sqlfluff", "sqlformat", "pg_format",
]);

/** Of those, the ones whose words are only text, patterns and names, or are examined separately. */
// oxfmt-ignore
const TEXT_ONLY = new Set([
  "echo", "printf", "grep", "egrep", "fgrep", "zgrep", "rg", "test", "[", ":", "true", "false", "expr", "jq", "gojq", "jaq", "yq", "xq", "tomlq", "logger", "notify-send", "say", "cowsay", "figlet", "toilet",
  "sed", "gsed", "awk", "gawk", "mawk", "nawk", "original-awk", "find", "gfind", "bfs", "xargs", "gxargs", "parallel", "git", "cd", "export", "declare", "typeset", "local", "readonly", "set",
]);

/** Whether a harmless program may still have an option that names a pager or a filter. */
export function runsByOption(name: string): boolean {
  return !TEXT_ONLY.has(name);
}

export function isPlainProgram(name: string): boolean {
  return PLAIN_PROGRAMS.has(name);
}

/** Programs that run commands through options, and treat standard input as data: an archive, a picture, a signature. */
// oxfmt-ignore
const DATA_READERS = new Set([
  "tar", "gtar", "bsdtar", "docker", "podman", "gpg", "gpg2", "openssl", "age", "minisign", "cosign", "fzf", "sk", "ffmpeg", "ffprobe", "magick", "convert", "pandoc", "kubeval", "kubeconform", "conftest", "protoc", "wasm-tools", "xclip", "wl-copy", "pbcopy",
]);

export function readsData(name: string): boolean {
  return DATA_READERS.has(name);
}
