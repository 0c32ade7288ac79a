import { callNumber } from "./seccomp.ts";
import type { Architecture } from "./seccomp.ts";
import { inSingleQuotes } from "../../protocol/shell-quote.ts";

/** Bait outside the sandbox that the attempts try to reach. None of it is real data. */
export interface Bait {
  /** A file in the runtime's state folder, and its content. */
  readonly state_file: string;
  readonly secret: string;
  /** A file in a root that is off limits by its name, with the same content. */
  readonly key_file: string;
  /** A file in the home that no tool needs, with the same content. */
  readonly home_file: string;
  /** Files outside the roots that must not be created. */
  readonly new_files: readonly string[];
  /** A process outside: its ID, and a word in its command line. */
  readonly pid: number;
  readonly process_word: string;
  /** Listening outside: a port on 127.0.0.1, an abstract socket, and one with a path. */
  readonly port: number;
  readonly abstract_socket: string;
  readonly named_socket: string;
  /** A socket in a root, renamed after it was bound. */
  readonly renamed_socket: string;
  /** A word in the command line of a process that an attempt leaves behind. */
  readonly left_word: string;
  readonly architecture: Architecture;
}

export interface Attempt {
  readonly attempt: string;
  /** Prints `escaped` where it succeeded, `not_tried` where it needs a program that is not installed. */
  readonly script: (planted: Bait) => string;
}

/** Makes a system call; escaped unless it was not permitted, or the kernel does not have it. */
const CALL = `
call() {
  if command -v perl >/dev/null; then
    perl -e '$! = 0; syscall($ARGV[0] + 0, map { $_ + 0 } @ARGV[1 .. $#ARGV]); exit($! + 0)' "$@"
  elif command -v python3 >/dev/null; then
    python3 -c 'import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(ctypes.get_errno() if libc.syscall(*[ctypes.c_long(int(each)) for each in sys.argv[1:]]) < 0 else 0)' "$@"
  else echo not_tried; return; fi
  case $? in 1|38) ;; *) echo escaped ;; esac
}`;

function systemCall(name: string, args: string, attempt = `call ${name}`): Attempt {
  return {
    attempt,
    script: ({ architecture }) => `${CALL}\nsleep 5 & call ${callNumber(name, architecture) ?? -1} ${args}`,
  };
}

/** Abstract sockets have a zero byte before their names. */
function connects(before: string, name: string): string {
  return `command -v perl >/dev/null || { echo not_tried; exit; }
perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) and connect(S, pack_sockaddr_un(${before} . $ARGV[0])) and print "escaped"' ${inSingleQuotes(name)}`;
}

function opensForWriting(path: string): string {
  return `{ : >> ${path}; } 2>/dev/null && echo escaped`;
}

/** Splits a word with quotes, so that the script's own command line does not contain it. */
function apart(word: string): string {
  return `${word.slice(0, 4)}""${word.slice(4)}`;
}

/** Real attempts. A successful one changes nothing outside but the bait. */
export const ATTEMPTS: readonly Attempt[] = [
  {
    attempt: "write outside the roots",
    script: ({ new_files }) => new_files.map((file) => `echo x 2>/dev/null > ${inSingleQuotes(file)}`).join("\n"),
  },
  { attempt: "read the runtime's state", script: ({ state_file }) => `cat ${inSingleQuotes(state_file)}` },
  {
    attempt: "write the runtime's state",
    script: ({ state_file }) => `echo x > ${inSingleQuotes(state_file)}; rm -f ${inSingleQuotes(state_file)}`,
  },
  { attempt: "read a closed file in the workspace", script: ({ key_file }) => `cat ${inSingleQuotes(key_file)}` },
  { attempt: "read a file of the home", script: ({ home_file }) => `cat ${inSingleQuotes(home_file)}` },
  {
    attempt: "reach a socket in the workspace that was renamed",
    script: ({ renamed_socket }) => connects('""', renamed_socket),
  },
  {
    attempt: "read the runtime's state through /proc",
    script: ({ state_file, pid }) =>
      ["1", "self", `${pid}`].map((each) => `cat /proc/${each}/root${inSingleQuotes(state_file)}`).join("; "),
  },
  {
    attempt: "see a process outside",
    script: ({ process_word }) =>
      `case $(cat /proc/[0-9]*/cmdline | tr '\\0' ' ') in *${apart(process_word)}*) echo escaped ;; esac`,
  },
  { attempt: "signal a process outside", script: ({ pid }) => `kill -KILL ${pid} && echo escaped` },
  {
    attempt: "reach a port of the machine",
    script: ({ port }) => `exec 9<>/dev/tcp/127.0.0.1/${port} && echo escaped`,
  },
  {
    attempt: "reach an abstract socket of the machine",
    script: ({ abstract_socket }) => connects(String.raw`"\0"`, abstract_socket),
  },
  { attempt: "reach a socket of the machine by its name", script: ({ named_socket }) => connects('""', named_socket) },
  { attempt: "name the program that handles crashes", script: () => opensForWriting("/proc/sys/kernel/core_pattern") },
  {
    attempt: "change the kernel's settings",
    script: () =>
      ["/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/*/release_agent"]
        .map((path) => `for each in ${path}; do [ -e "$each" ] && ${opensForWriting('"$each"')}; done`)
        .join("\n"),
  },
  {
    attempt: "gain privileges",
    script: () => `while read -r name value; do
  case $name in CapPrm:|CapEff:|CapBnd:|CapAmb:) [ "$((16#$value))" = 0 ] || echo escaped ;; NoNewPrivs:) [ "$value" = 1 ] || echo escaped ;; esac
done < /proc/self/status
command -v sudo >/dev/null && sudo -n true 2>/dev/null && echo escaped`,
  },
  {
    attempt: "use a device of the machine",
    script: () =>
      `for each in /dev/[shv]d[a-z]* /dev/nvme* /dev/dm-* /dev/loop* /dev/mem /dev/kmsg /dev/kvm /dev/fuse /dev/net/tun; do [ -e "$each" ] && echo escaped; done`,
  },
  { attempt: "write the memory of the sandbox's first process", script: () => opensForWriting("/proc/1/mem") },
  { attempt: "write to the terminal", script: () => opensForWriting("/dev/tty") },
  systemCall("ioctl", "0 21522 0" /* TIOCSTI */, "type into the terminal"),
  systemCall("ptrace", '16 "$!" 0 0' /* PTRACE_ATTACH */, "trace another process"),
  systemCall("process_vm_readv", "1 0 0 0 0 0"),
  systemCall("io_uring_setup", "1 0"),
  systemCall("keyctl", "0 -3 0"),
  systemCall("bpf", "0 0 0"),
  systemCall("unshare", "268435456" /* CLONE_NEWUSER */),
  systemCall("setns", "0 0"),
  systemCall("mount", "0 0 0 0 0"),
  systemCall("pivot_root", "0 0"),
  systemCall("open_by_handle_at", "-1 0 0"),
  {
    attempt: "leave a process behind",
    script: ({ left_word }) =>
      `(setsid nohup bash -c 'exec -a ${apart(left_word).replace('""', "''")} sleep 60' >/dev/null 2>&1 &) & setsid sleep 60 & exit`,
  },
];
