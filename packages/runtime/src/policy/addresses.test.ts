import { isIP } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { closedAs, isLoopback, parseAddress } from "./addresses.ts";

function whatIs(text: string): string | undefined {
  const bytes = parseAddress(text);
  if (bytes === undefined) throw new Error(`no address: ${text}`);
  return closedAs(bytes)?.what;
}

const METADATA = "a cloud metadata service";
const DISGUISED = "an IPv6 address that embeds an IPv4 one";

// oxfmt-ignore
const CLOSED = [
  ["0.0.0.0",                  "an unspecified address"],
  ["0.1.2.3",                  "an unspecified address"],
  ["10.0.0.0",                 "a private address"],
  ["10.255.255.255",           "a private address"],
  ["100.64.0.0",               "a carrier-grade NAT address"],
  ["100.127.255.255",          "a carrier-grade NAT address"],
  ["100.100.100.200",          METADATA],
  ["127.0.0.1",                "a loopback address"],
  ["127.255.255.255",          "a loopback address"],
  ["168.63.129.16",            METADATA],
  ["169.254.0.1",              "a link-local address"],
  ["169.254.169.254",          METADATA],
  ["169.254.170.2",            METADATA],
  ["172.16.0.0",               "a private address"],
  ["172.31.255.255",           "a private address"],
  ["192.0.0.1",                "an address reserved for protocols"],
  ["192.0.0.192",              METADATA],
  ["192.0.2.1",                "an address reserved for documentation"],
  ["192.88.99.1",              "an address of a 6to4 relay"],
  ["192.168.0.1",              "a private address"],
  ["198.18.0.1",               "an address reserved for benchmarks"],
  ["198.19.255.255",           "an address reserved for benchmarks"],
  ["198.51.100.1",             "an address reserved for documentation"],
  ["203.0.113.1",              "an address reserved for documentation"],
  ["224.0.0.1",                "a multicast address"],
  ["239.255.255.255",          "a multicast address"],
  ["240.0.0.1",                "a reserved address"],
  ["255.255.255.254",          "a reserved address"],
  ["255.255.255.255",          "the broadcast address"],
  ["::",                       "an unspecified address"],
  ["::1",                      "a loopback address"],
  ["::2",                      DISGUISED],
  ["::127.0.0.1",              DISGUISED],
  ["::ffff:127.0.0.1",         DISGUISED],
  ["::ffff:7f00:1",            DISGUISED],
  ["::ffff:8.8.8.8",           DISGUISED],
  ["::ffff:0:127.0.0.1",       DISGUISED],
  ["64:ff9b::127.0.0.1",       "a blocked IPv4 address behind NAT64"],
  ["64:ff9b::a9fe:a9fe",       "a blocked IPv4 address behind NAT64"],
  ["64:ff9b:1::8.8.8.8",       "an address of a local NAT64"],
  ["64:ff9b::1:808:808",       "an unallocated address"],
  ["100::1",                   "a discard-only address"],
  ["2001::1",                  "a Teredo address"],
  ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "a Teredo address"],
  ["2001:2::1",                "an address reserved for protocols"],
  ["2001:20::1",               "an address reserved for protocols"],
  ["2001:db8::1",              "an address reserved for documentation"],
  ["2002:7f00:1::",            "a 6to4 address"],
  ["2002:808:808::1",          "a 6to4 address"],
  ["2606:4700::5efe:127.0.0.1", "an ISATAP address"],
  ["2606:4700::200:5efe:10.0.0.1", "an ISATAP address"],
  ["3fff::1",                  "an address reserved for documentation"],
  ["4000::1",                  "an unallocated address"],
  ["5f00::1",                  "an unallocated address"],
  ["fc00::1",                  "a private address"],
  ["fdff::1",                  "a private address"],
  ["fd00:ec2::254",            METADATA],
  ["fd20:ce::254",             METADATA],
  ["fe80::1",                  "a link-local address"],
  ["febf::1",                  "a link-local address"],
  ["fec0::1",                  "a site-local address"],
  ["ff02::1",                  "a multicast address"],
] as const;

test.each(CLOSED)("%s is closed: it is %s", (address, what) => {
  expect(whatIs(address)).toBe(what);
});

// oxfmt-ignore
const OPEN = [
  "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.215.14", "100.63.255.255", "100.128.0.0", "126.255.255.255",
  "128.0.0.0", "168.63.129.15", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
  "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
  "2000::1", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700::1111", "2a00:1450:4001:81b::200e", "3ffe:ffff::1",
  "64:ff9b::8.8.8.8",
] as const;

test.each(OPEN)("%s is an ordinary public address", (address) => {
  expect(whatIs(address)).toBeUndefined();
});

// oxfmt-ignore
const NO_ADDRESSES = [
  "", "localhost", "127.1", "0177.0.0.1", "0x7f.0.0.1", "2130706433", "127.0.0.01", "127.0.0.1.", "1.2.3.4.5", "256.0.0.1", " 127.0.0.1",
  "127.0.0.1\0", "１２７.0.0.1", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8", "12345::", "::1%lo",
  "::g", "1.2.3.4::", "::1.2.3.4:1", "::1.2.3", "[::1]",
] as const;

test.each(NO_ADDRESSES)("%j is not read as an address", (text) => {
  expect(parseAddress(text)).toBeUndefined();
});

test("the loopback addresses are told apart from all others", () => {
  const isOne = (text: string): boolean => isLoopback(parseAddress(text) ?? new Uint8Array(4));
  expect(["127.0.0.1", "127.9.9.9", "::1"].map(isOne)).toEqual([true, true, true]);
  expect(["126.0.0.1", "::", "1::1", "::101", "10.0.0.1"].map(isOne)).toEqual([false, false, false, false, false]);
});

test("every IPv4 address is read as its four bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), (bytes) => {
      expect(parseAddress(bytes.join("."))).toEqual(bytes);
    }),
  );
});

test("every IPv6 address is read as its bytes, however it is written", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.boolean(), (bytes, isDotted) => {
      const groups = Array.from({ length: 8 }, (_, at) =>
        (((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0)).toString(16),
      );
      const written = isDotted ? [...groups.slice(0, 6), bytes.subarray(12).join(".")].join(":") : groups.join(":");
      const compressed = new URL(`http://[${written}]/`).hostname.slice(1, -1);
      expect(parseAddress(written)).toEqual(bytes);
      expect(parseAddress(compressed)).toEqual(bytes);
      expect(parseAddress(written.toUpperCase())).toEqual(bytes);
    }),
  );
});

test("what is read as an address is one to the system too", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...Array.from("0129afAF:.%x ")), maxLength: 24 }), (text) => {
      expect(parseAddress(text) !== undefined).toBe(isIP(text) !== 0 && !text.includes("%"));
    }),
    { numRuns: 3000 },
  );
});
