import { expect, test } from "vitest";
import { hintFor, networkHint } from "./command-hints.ts";
import type { CommandOutcome } from "./command-hints.ts";

const END: CommandOutcome = { sandbox: "bwrap", network: false };

function printed(stderr: string, stdout = ""): Parameters<typeof hintFor>[1] {
  return { stdout, stderr };
}

// oxfmt-ignore
const OFFLINE = [
  "npm error request to https://registry.npmjs.org/left-pad failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
  "npm error network This is a problem related to network connectivity.",
  "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError': Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
  "fatal: unable to access 'https://github.com/x/y/': Could not resolve host: github.com",
  "ssh: Could not resolve hostname github.com: Temporary failure in name resolution",
  "curl: (6) Could not resolve host: example.com",
  "wget: unable to resolve host address ‘example.com’",
  "connect to 10.0.0.1 port 443 failed: Network is unreachable",
  "  [6] Could not resolve hostname (Could not resolve host: index.crates.io)",
  "go: module x: Get \"https://proxy.golang.org/x/@v/list\": dial tcp: lookup proxy.golang.org: no such host",
  "dial tcp: lookup proxy.golang.org on 10.0.0.2:53: dial udp 10.0.0.2:53: connect: network is unreachable",
  "W: Failed to fetch http://deb.debian.org/debian/dists/InRelease  Temporary failure resolving 'deb.debian.org'",
  "error sending request: dns error: failed to lookup address information",
  "java.net.UnknownHostException: repo.maven.apache.org",
  "Error: getaddrinfo ENOTFOUND api.example.com",
];

for (const line of OFFLINE) {
  test(`a command that failed with ${JSON.stringify(line.slice(0, 60))} is told how to ask for the network`, () => {
    const stderr = `some output\n${line}\n`;
    expect(hintFor(END, printed(stderr))).toMatch(/no network.*"network": true.*"allow"/);
    expect(hintFor(END, printed("", stderr))).toMatch(/no network/);
    expect(networkHint(END, printed(stderr))).toMatch(/no network/);
    expect(hintFor({ ...END, sandbox: "none" }, printed(stderr))).toBeUndefined();
    expect(hintFor({ ...END, network: true }, printed(stderr))).toBeUndefined();
  });
}

// oxfmt-ignore
const OTHER = [
  'error: Could not resolve "react"',
  'Failed to resolve import "./missing" from "src/a.ts"',
  "connect ECONNREFUSED 127.0.0.1:5432: connection refused",
  "AssertionError: expected 2 to be 3",
  "network: not a command",
  "make: *** [all] Error 2",
];

for (const line of OTHER) {
  test(`${JSON.stringify(line)} says nothing of the network`, () => {
    expect(hintFor(END, printed(line))).toBeUndefined();
    expect(networkHint(END, printed(line))).toBeUndefined();
  });
}

test("what is not at the end is not why a command failed", () => {
  expect(hintFor(END, printed(`Could not resolve host: a.example\n${"x\n".repeat(5000)}`))).toBeUndefined();
});

test("a command with the network is told what is not on the allowlist", () => {
  const connections = [
    { host: "a.example", port: 443, allowed: true },
    { host: "b.example", port: 443, allowed: false },
    { host: "b.example", port: 443, allowed: false },
    { host: "c.example", port: 8443, allowed: false },
  ];
  const end = { ...END, network: true, connections };
  const says = /^Not on the network allowlist: "b\.example", "c\.example:8443"\. .*"network": \{ "allow"/;
  expect(hintFor(end, printed("curl: (56) CONNECT tunnel failed"))).toMatch(says);
  expect(networkHint(end, printed(""))).toMatch(says);
  const many = Array.from({ length: 40 }, (_, i) => ({ host: `h${i}.example`, port: 443, allowed: false }));
  expect(hintFor({ ...end, connections: many }, printed(""))).toMatch(/ and 35 more\./);
});

test("the packages of the program come before the network where they are read-only", () => {
  const stderr = "npm error getaddrinfo EAI_AGAIN registry.npmjs.org";
  expect(hintFor({ ...END, packages_closed: true }, printed(stderr))).toMatch(/^node_modules is read-only/);
});
