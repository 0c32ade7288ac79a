/** Which kinds of sockets a command may create: only `unix`, or `internet` too. */
export type Sockets = "unix" | "internet";
export type Architecture = "x64" | "arm64";

type Verdict = "deny" | "absent" | Check;

/** Denied depending on an argument. Only its low 32 bits count, as for the kernel. */
interface Check {
  readonly argument: 0 | 1;
  /** `at_most` compares all 64 bits, the others the lower 32. */
  readonly test: "denied_values" | "allowed_values" | "denied_bits" | "at_most";
  readonly values: readonly number[];
}

interface Row {
  /** Numbers of the call; null where an architecture does not have it. */
  readonly x64: number | null;
  readonly arm64: number | null;
  readonly verdict: Verdict;
}

const CLONE_NEWUSER = 0x1000_0000;
const NEW_USER_NAMESPACE: Check = { argument: 0, test: "denied_bits", values: [CLONE_NEWUSER] };
/** TIOCSTI and TIOCLINUX type into the terminal that we were started from; TIOCSETD loads a line discipline. */
const TERMINAL_TRICKS: Check = { argument: 1, test: "denied_values", values: [0x5412, 0x541c, 0x5423] };
/** PER_LINUX, PER_LINUX32, each with UNAME26, and the query for the current one. */
const PLAIN_PERSONALITIES: Check = {
  argument: 0,
  test: "allowed_values",
  values: [0, 8, 0x2_0000, 0x2_0008, 0xffff_ffff],
};
/** The kernel allows 4096 segments per namespace, so together they take at most 256 MiB. */
const SMALL_SEGMENT: Check = { argument: 1, test: "at_most", values: [65_536] };
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;

/**
 * System calls that no command needs and that escapes use. All others are allowed: namespaces and missing capabilities
 * are the main protection; this filter removes the most vulnerable parts of the kernel interface.
 */
// oxfmt-ignore
const CALLS: Readonly<Record<string, Row>> = {
  // other processes
  ptrace:            { x64: 101,  arm64: 117,  verdict: "deny" },
  process_vm_readv:  { x64: 310,  arm64: 270,  verdict: "deny" },
  process_vm_writev: { x64: 311,  arm64: 271,  verdict: "deny" },
  kcmp:              { x64: 312,  arm64: 272,  verdict: "deny" },
  pidfd_getfd:       { x64: 438,  arm64: 438,  verdict: "deny" },
  // keys are not isolated by any namespace
  add_key:           { x64: 248,  arm64: 217,  verdict: "deny" },
  request_key:       { x64: 249,  arm64: 218,  verdict: "deny" },
  keyctl:            { x64: 250,  arm64: 219,  verdict: "deny" },
  // large and often vulnerable parts of the kernel; io_uring also bypasses this filter
  io_uring_setup:    { x64: 425,  arm64: 425,  verdict: "deny" },
  io_uring_enter:    { x64: 426,  arm64: 426,  verdict: "deny" },
  io_uring_register: { x64: 427,  arm64: 427,  verdict: "deny" },
  bpf:               { x64: 321,  arm64: 280,  verdict: "deny" },
  perf_event_open:   { x64: 298,  arm64: 241,  verdict: "deny" },
  userfaultfd:       { x64: 323,  arm64: 282,  verdict: "deny" },
  fanotify_init:     { x64: 300,  arm64: 262,  verdict: "deny" },
  modify_ldt:        { x64: 154,  arm64: null, verdict: "deny" },
  uselib:            { x64: 134,  arm64: null, verdict: "deny" },
  // the machine
  kexec_load:        { x64: 246,  arm64: 104,  verdict: "deny" },
  kexec_file_load:   { x64: 320,  arm64: 294,  verdict: "deny" },
  create_module:     { x64: 174,  arm64: null, verdict: "deny" },
  init_module:       { x64: 175,  arm64: 105,  verdict: "deny" },
  finit_module:      { x64: 313,  arm64: 273,  verdict: "deny" },
  delete_module:     { x64: 176,  arm64: 106,  verdict: "deny" },
  iopl:              { x64: 172,  arm64: null, verdict: "deny" },
  ioperm:            { x64: 173,  arm64: null, verdict: "deny" },
  swapon:            { x64: 167,  arm64: 224,  verdict: "deny" },
  swapoff:           { x64: 168,  arm64: 225,  verdict: "deny" },
  reboot:            { x64: 169,  arm64: 142,  verdict: "deny" },
  acct:              { x64: 163,  arm64: 89,   verdict: "deny" },
  quotactl:          { x64: 179,  arm64: 60,   verdict: "deny" },
  quotactl_fd:       { x64: 443,  arm64: 443,  verdict: "deny" },
  syslog:            { x64: 103,  arm64: 116,  verdict: "deny" },
  vhangup:           { x64: 153,  arm64: 58,   verdict: "deny" },
  // mounts, and access to files other than by name
  mount:             { x64: 165,  arm64: 40,   verdict: "deny" },
  umount2:           { x64: 166,  arm64: 39,   verdict: "deny" },
  pivot_root:        { x64: 155,  arm64: 41,   verdict: "deny" },
  chroot:            { x64: 161,  arm64: 51,   verdict: "deny" },
  open_tree:         { x64: 428,  arm64: 428,  verdict: "deny" },
  move_mount:        { x64: 429,  arm64: 429,  verdict: "deny" },
  fsopen:            { x64: 430,  arm64: 430,  verdict: "deny" },
  fsconfig:          { x64: 431,  arm64: 431,  verdict: "deny" },
  fsmount:           { x64: 432,  arm64: 432,  verdict: "deny" },
  fspick:            { x64: 433,  arm64: 433,  verdict: "deny" },
  mount_setattr:     { x64: 442,  arm64: 442,  verdict: "deny" },
  open_tree_attr:    { x64: 467,  arm64: 467,  verdict: "deny" },
  name_to_handle_at: { x64: 303,  arm64: 264,  verdict: "deny" },
  open_by_handle_at: { x64: 304,  arm64: 265,  verdict: "deny" },
  // namespaces. The arguments of clone3 are in memory, which a filter cannot read: without it libc falls back to clone.
  setns:             { x64: 308,  arm64: 268,  verdict: "deny" },
  unshare:           { x64: 272,  arm64: 97,   verdict: NEW_USER_NAMESPACE },
  clone:             { x64: 56,   arm64: 220,  verdict: NEW_USER_NAMESPACE },
  clone3:            { x64: 435,  arm64: 435,  verdict: "absent" },
  // memory that counts for no process. Programs fall back to a file in /tmp, which counts, or to a small segment.
  memfd_create:      { x64: 319,  arm64: 279,  verdict: "absent" },
  memfd_secret:      { x64: 447,  arm64: 447,  verdict: "absent" },
  shmget:            { x64: 29,   arm64: 194,  verdict: SMALL_SEGMENT },
  // the rest
  personality:       { x64: 135,  arm64: 92,   verdict: PLAIN_PERSONALITIES },
  ioctl:             { x64: 16,   arm64: 29,   verdict: TERMINAL_TRICKS },
  socketpair:        { x64: 53,   arm64: 199,  verdict: { argument: 0, test: "allowed_values", values: [AF_UNIX] } },
};

// oxfmt-ignore
const SOCKET: Readonly<Record<Sockets, Row>> = {
  unix:     { x64: 41, arm64: 198, verdict: { argument: 0, test: "allowed_values", values: [AF_UNIX] } },
  internet: { x64: 41, arm64: 198, verdict: { argument: 0, test: "allowed_values", values: [AF_UNIX, AF_INET, AF_INET6] } },
};

/** The kernel's constants for the architecture of a call (linux/audit.h). */
const AUDIT_ARCHITECTURE: Readonly<Record<Architecture, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
/** Calls of the x32 ABI have this bit in their number, and would otherwise bypass the filter. */
const X32_BIT = 0x4000_0000;

/** One instruction of classic BPF: code, jump if true, jump if false, constant. */
type Instruction = readonly [code: number, yes: number, no: number, constant: number];

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW: Instruction = [RETURN, 0, 0, 0x7fff_0000];
const KILL: Instruction = [RETURN, 0, 0, 0x8000_0000];
const DENY: Instruction = [RETURN, 0, 0, 0x0005_0000 | 1 /* EPERM */];
const ABSENT: Instruction = [RETURN, 0, 0, 0x0005_0000 | 38 /* ENOSYS */];

/** Offsets in `struct seccomp_data`: call number and architecture; arguments begin at 16, 8 bytes each. */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const ARGUMENTS_AT = 16;

export function isArchitecture(name: string): name is Architecture {
  return Object.hasOwn(AUDIT_ARCHITECTURE, name);
}

/** The number of a call in the filter; undefined where the architecture does not have it. */
export function callNumber(name: keyof typeof CALLS, architecture: Architecture): number | undefined {
  return CALLS[name]?.[architecture] ?? undefined;
}

/** A system call filter in the form that bwrap reads from a descriptor. */
export function seccompProgram(architecture: Architecture, sockets: Sockets): Buffer {
  const instructions: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [IF_EQUAL, 1, 0, AUDIT_ARCHITECTURE[architecture]],
    KILL,
    [LOAD, 0, 0, NUMBER_AT],
  ];
  if (architecture === "x64") instructions.push([IF_AT_LEAST, 0, 1, X32_BIT], DENY);
  for (const row of [...Object.values(CALLS), SOCKET[sockets]]) {
    const number = row[architecture];
    if (number === null) continue;
    const then = answer(row.verdict);
    instructions.push([IF_EQUAL, 0, then.length, number], ...then);
  }
  return encode([...instructions, ALLOW]);
}

/** Instructions for a matched call. Always ends with a return. */
function answer(verdict: Verdict): readonly Instruction[] {
  if (verdict === "deny") return [DENY];
  if (verdict === "absent") return [ABSENT];
  const { argument, test, values } = verdict;
  if (test === "at_most") return atMost(argument, Math.max(...values));
  const [match, other] = test === "allowed_values" ? [ALLOW, DENY] : [DENY, ALLOW];
  const compare = test === "denied_bits" ? IF_ANY_BIT : IF_EQUAL;
  return [
    [LOAD, 0, 0, ARGUMENTS_AT + 8 * argument],
    ...values.flatMap((value): Instruction[] => [[compare, 0, 1, value], match]),
    other,
  ];
}

function atMost(argument: number, most: number): readonly Instruction[] {
  const lower = ARGUMENTS_AT + 8 * argument;
  return [
    [LOAD, 0, 0, lower + 4],
    [IF_EQUAL, 1, 0, 0],
    DENY,
    [LOAD, 0, 0, lower],
    [IF_AT_LEAST, 0, 1, most + 1],
    DENY,
    ALLOW,
  ];
}

function encode(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, yes, no, constant]] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(constant >>> 0, index * 8 + 4);
  }
  return bytes;
}
