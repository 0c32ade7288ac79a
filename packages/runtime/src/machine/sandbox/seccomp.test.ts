import { expect, test } from "vitest";
import { callNumber, seccompProgram } from "./seccomp.ts";
import type { Architecture, Sockets } from "./seccomp.ts";

const ALLOWED = "allowed";
const EPERM = "EPERM";
const ENOSYS = "ENOSYS";
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003 } as const;

interface Call {
  readonly number: number;
  readonly args?: readonly bigint[];
  readonly architecture?: keyof typeof AUDIT;
}

/** Runs a program as the kernel does. */
function evaluate(program: Buffer, { number, args = [], architecture = "x64" }: Call): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(AUDIT[architecture], 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const code = program.readUInt16LE(at * 8);
    const constant = program.readUInt32LE(at * 8 + 4);
    const jump = (isTrue: boolean): void => void (at += program.readUInt8(at * 8 + (isTrue ? 2 : 3)));
    if (code === 0x20) accumulator = data.readUInt32LE(constant);
    else if (code === 0x15) jump(accumulator === constant);
    else if (code === 0x35) jump(accumulator >= constant);
    else if (code === 0x45) jump((accumulator & constant) !== 0);
    else if (code === 0x06) return VERDICTS[constant] ?? `returned ${constant}`;
    else throw new Error(`instruction ${code}`);
  }
  throw new Error("it ran over its end");
}

const VERDICTS: Readonly<Record<number, string>> = {
  0x7fff0000: ALLOWED,
  0x00050001: EPERM,
  0x00050026: ENOSYS,
  0x80000000: "killed",
};

const NEWUSER = 0x10000000n;

// oxfmt-ignore
const CASES: readonly { title: string; x64: number; arm64: number; args?: readonly bigint[]; sockets?: Sockets; verdict: string }[] = [
  { title: "read",                                   x64: 0,   arm64: 63,  verdict: ALLOWED },
  { title: "execve",                                 x64: 59,  arm64: 221, verdict: ALLOWED },
  { title: "ptrace",                                 x64: 101, arm64: 117, verdict: EPERM },
  { title: "process_vm_writev",                      x64: 311, arm64: 271, verdict: EPERM },
  { title: "keyctl",                                 x64: 250, arm64: 219, verdict: EPERM },
  { title: "io_uring_setup",                         x64: 425, arm64: 425, verdict: EPERM },
  { title: "bpf",                                    x64: 321, arm64: 280, verdict: EPERM },
  { title: "perf_event_open",                        x64: 298, arm64: 241, verdict: EPERM },
  { title: "userfaultfd",                            x64: 323, arm64: 282, verdict: EPERM },
  { title: "memfd_create",                           x64: 319, arm64: 279, verdict: ENOSYS },
  { title: "memfd_secret",                           x64: 447, arm64: 447, verdict: ENOSYS },
  { title: "a small segment",                        x64: 29,  arm64: 194, args: [0n, 65_536n], verdict: ALLOWED },
  { title: "a large segment",                        x64: 29,  arm64: 194, args: [0n, 65_537n], verdict: EPERM },
  { title: "a segment of which half the bits are 0", x64: 29,  arm64: 194, args: [0n, 1n << 32n], verdict: EPERM },
  { title: "mount",                                  x64: 165, arm64: 40,  verdict: EPERM },
  { title: "setns",                                  x64: 308, arm64: 268, verdict: EPERM },
  { title: "open_by_handle_at",                      x64: 304, arm64: 265, verdict: EPERM },
  { title: "finit_module",                           x64: 313, arm64: 273, verdict: EPERM },
  { title: "kexec_load",                             x64: 246, arm64: 104, verdict: EPERM },
  { title: "reboot",                                 x64: 169, arm64: 142, verdict: EPERM },
  { title: "clone3, as if the kernel had none",      x64: 435, arm64: 435, verdict: ENOSYS },
  { title: "clone for a process",                    x64: 56,  arm64: 220, args: [0x1200011n], verdict: ALLOWED },
  { title: "clone into a new user namespace",        x64: 56,  arm64: 220, args: [NEWUSER | 17n], verdict: EPERM },
  { title: "unshare of files",                       x64: 272, arm64: 97,  args: [0x400n], verdict: ALLOWED },
  { title: "unshare of users",                       x64: 272, arm64: 97,  args: [NEWUSER], verdict: EPERM },
  { title: "a plain ioctl",                          x64: 16,  arm64: 29,  args: [0n, 0x5401n], verdict: ALLOWED },
  { title: "typing into a terminal",                 x64: 16,  arm64: 29,  args: [0n, 0x5412n], verdict: EPERM },
  { title: "typing with high bits that do not count", x64: 16, arm64: 29,  args: [0n, 0x1_0000_5412n], verdict: EPERM },
  { title: "pasting on a console",                   x64: 16,  arm64: 29,  args: [0n, 0x541cn], verdict: EPERM },
  { title: "the default personality",                  x64: 135, arm64: 92,  args: [0n], verdict: ALLOWED },
  { title: "querying the personality",             x64: 135, arm64: 92,  args: [0xffffffffn], verdict: ALLOWED },
  { title: "a personality that reads as executable", x64: 135, arm64: 92,  args: [0x400000n], verdict: EPERM },
  { title: "a unix socket",                          x64: 41,  arm64: 198, args: [1n], verdict: ALLOWED },
  { title: "an internet socket without network",     x64: 41,  arm64: 198, args: [2n], verdict: EPERM },
  { title: "an internet socket with one",            x64: 41,  arm64: 198, args: [2n], sockets: "internet", verdict: ALLOWED },
  { title: "an IPv6 socket with one",                x64: 41,  arm64: 198, args: [10n], sockets: "internet", verdict: ALLOWED },
  { title: "a netlink socket with one",              x64: 41,  arm64: 198, args: [16n], sockets: "internet", verdict: EPERM },
  { title: "a packet socket with one",               x64: 41,  arm64: 198, args: [17n], sockets: "internet", verdict: EPERM },
  { title: "a vsock socket",                         x64: 41,  arm64: 198, args: [40n], verdict: EPERM },
  { title: "a pair of unix sockets",                 x64: 53,  arm64: 199, args: [1n], verdict: ALLOWED },
];

for (const architecture of ["x64", "arm64"] as const satisfies readonly Architecture[]) {
  test(`on ${architecture} the filter answers each call as the table says`, () => {
    for (const { title, args = [], sockets = "unix", verdict, ...numbers } of CASES) {
      const program = seccompProgram(architecture, sockets);
      const found = evaluate(program, { number: numbers[architecture], args, architecture });
      expect({ title, found }).toEqual({ title, found: verdict });
    }
  });
}

test("calls of another architecture kill the process, and x32 calls are refused", () => {
  const program = seccompProgram("x64", "internet");

  expect(evaluate(program, { number: 3, architecture: "i386" })).toBe("killed");
  expect(evaluate(program, { number: 0x40000000 })).toBe(EPERM);
  expect(evaluate(program, { number: 0x40000000 + 101 })).toBe(EPERM);
  expect(evaluate(seccompProgram("arm64", "unix"), { number: 3, architecture: "x64" })).toBe("killed");
});

test("every filter terminates for every call, and is short enough for the kernel", () => {
  for (const architecture of ["x64", "arm64"] as const) {
    const program = seccompProgram(architecture, "internet");
    expect(program.length / 8).toBeLessThan(4096);
    for (let number = -1; number < 600; number++) {
      for (const argument of [0n, 1n, 16n, 0x5412n, 0xffffffffffffffffn]) {
        expect(() => evaluate(program, { number, args: [argument, argument], architecture })).not.toThrow();
      }
    }
  }
});

test("call numbers are those of the requested architecture", () => {
  expect(callNumber("ptrace", "arm64")).toBe(117);
  expect(callNumber("iopl", "arm64")).toBeUndefined();
});
