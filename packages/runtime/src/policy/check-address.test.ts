import fc from "fast-check";
import { expect, test } from "vitest";
import { explainBadEntry, intersectAllowlists, judgeAddress, judgeResolved, showAddress } from "./check-address.ts";

const ALLOW = [
  "example.com",
  "*.example.org",
  "api.example.net:8443",
  "1.1.1.1",
  "[2606:4700::1111]",
  "münchen.example",
];

// oxfmt-ignore
const ALLOWED = [
  ["https://example.com",                   "example.com",             443],
  ["http://example.com/a?b=c#d",            "example.com",             80],
  ["HTTPS://EXAMPLE.COM./x",                "example.com",             443],
  ["https://example.com:443/",              "example.com",             443],
  ["https://ex%61mple.com/",                "example.com",             443],
  ["https://ｅｘａｍｐｌｅ.com/",            "example.com",             443],
  ["https://a.example.org/",                "a.example.org",           443],
  ["https://a.b.example.org/",              "a.b.example.org",         443],
  ["https://api.example.net:8443/",         "api.example.net",         8443],
  ["http://api.example.net:8443/",          "api.example.net",         8443],
  ["http://1.1.1.1/",                       "1.1.1.1",                 80],
  ["http://0x01010101/",                    "1.1.1.1",                 80],
  ["https://[2606:4700:0:0::1111]/",        "2606:4700::1111",         443],
  ["https://MÜNCHEN.example/",              "xn--mnchen-3ya.example",  443],
  ["https://xn--mnchen-3ya.example/",       "xn--mnchen-3ya.example",  443],
] as const;

test.each(ALLOWED)("%s is on the allowlist, as %s on port %d", (url, host, port) => {
  expect(judgeAddress(url, ALLOW)).toMatchObject({ effect: "ALLOW", target: { host, port } });
});

// oxfmt-ignore
const DENIED = [
  ["another host",                      "https://example.net/",                      /"example.net" is not on/],
  ["a longer name with the same end",   "https://evilexample.com/",                  /not on the network allowlist/],
  ["a name below one without wildcard", "https://a.example.com/",                    /not on the network allowlist/],
  ["the name itself of a wildcard",     "https://example.org/",                      /not on the network allowlist/],
  ["a look-alike of a wildcard",        "https://evilexample.org/",                  /not on the network allowlist/],
  ["an allowed name as a subdomain",    "https://example.com.evil.net/",             /not on the network allowlist/],
  ["a look-alike in other letters",     "https://ехample.com/",                      /not on the network allowlist/],
  ["another port",                      "https://example.com:8443/",                 /not with port 8443/],
  ["http on the port of https",         "http://example.com:443/",                   /not with port 443/],
  ["the usual port where one is named", "https://api.example.net/",                  /not with port 443/],
  ["another scheme",                    "ftp://example.com/",                        /only http and https/],
  ["a file",                            "file:///etc/passwd",                        /only http and https/],
  ["data",                              "data:text/html,x",                          /only http and https/],
  ["a user and a password",             "https://user:pass@example.com/",            /user name or password/],
  ["an allowed name as user",           "https://example.com@evil.net/",             /user name or password/],
  ["this machine by name",              "http://localhost/",                         /the name of this machine/],
  ["the same with a dot and capitals",  "http://LOCALHOST./",                        /the name of this machine/],
  ["a name below localhost",            "http://a.localhost/",                       /local network/],
  ["a name of the local network",       "http://printer.local/",                     /local network/],
  ["a cloud's metadata by name",        "http://metadata.google.internal/",          /local network/],
  ["a name without a domain",           "http://intranet/",                          /without a domain/],
] as const;

test.each(DENIED)("the allowlist does not open %s", (_title, url, says) => {
  const verdict = judgeAddress(url, ALLOW);
  expect(verdict).toMatchObject({
    effect: "DENY",
    code: "NetworkDenied",
    reason: expect.stringMatching(says) as unknown,
  });
});

// oxfmt-ignore
const MALFORMED = [
  ["no URL",                        "example.com",                          /not a complete URL/],
  ["a NUL in the host",             "https://evil\0.example.com/",          /control characters/],
  ["a line break in the host",      "https://exam\nple.com/",               /control characters/],
  ["a tab before the scheme",       "\thttps://example.com/",               /control characters/],
  ["a control character later on",  "https://example.com/\u0085",           /control characters/],
  ["a NUL in disguise",             "https://evil%00.example.com/",         /not a complete URL/],
  ["a backslash",                   "https://example.com\\@evil.net/",      /parsers read in different ways/],
  ["two dots in a row",             "https://a..example.com/",              /not a valid host name/],
  ["two dots at the end",           "https://example.com../",               /not a valid host name/],
  ["a wildcard as host",            "https://*.example.com/",               /not a valid host name/],
  ["an endless label",              `https://${"a".repeat(64)}.example.org`, /not a valid host name/],
  ["an endless URL",                `https://example.com/${"a".repeat(20_000)}`, /longer than/],
  ["port 0",                        "https://example.com:0/",               /port 0 is not valid/],
] as const;

test.each(MALFORMED)("%s is refused before the list is looked at", (_title, url, says) => {
  for (const allow of [ALLOW, ["*"], []]) {
    const verdict = judgeAddress(url, allow);
    expect(verdict).toMatchObject({
      effect: "DENY",
      code: "InvalidArguments",
      reason: expect.stringMatching(says) as unknown,
    });
  }
});

test("with nothing on the allowlist the network is off", () => {
  expect(judgeAddress("https://example.com/", [])).toMatchObject({
    effect: "DENY",
    reason: expect.stringMatching(/off/) as unknown,
  });
});

test("a star alone means every public name, on the usual ports, and no address", () => {
  const effectOf = (url: string): string => judgeAddress(url, ["*"]).effect;
  expect(["https://example.com/", "http://a.b.c.example/"].map(effectOf)).toEqual(["ALLOW", "ALLOW"]);
  expect(
    ["https://example.com:8443/", "http://8.8.8.8/", "http://localhost/", "http://x.internal/"].map(effectOf),
  ).toEqual(["DENY", "DENY", "DENY", "DENY"]);
  expect(judgeAddress("https://example.com:8443/", ["*:8443"]).effect).toBe("ALLOW");
});

const SPELLINGS = [
  "127.0.0.1",
  "0177.0.0.1",
  "0x7f.1",
  "0x7f000001",
  "2130706433",
  "017700000001",
  "127.1",
  "127.0.1",
  "127.0.0.1.",
  "１２７.0.0.1",
  "①②⑦.0.0.1",
  "127。0。0。1",
  "%31%32%37.0.0.1",
  "0",
  "0.0.0.0",
  "0x0",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:7f00:1]",
  "[::ffff:127.0.0.1]",
  "[::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "[fd00:ec2::254]",
  "169.254.169.254",
  "0xa9fea9fe",
  "2852039166",
  "localhost",
  "localhost.",
  "LOCALHOST",
  "ＬＯＣＡＬＨＯＳＴ",
  "loc\u00adalhost",
] as const;

test.each(SPELLINGS)("http://%s/ is never reached, whatever else is allowed", (host) => {
  const wide = [
    "*",
    "*:8080",
    "*.localhost",
    "127.0.0.1",
    "localhost",
    "[::1]",
    "169.254.169.254:80",
    "[fd00:ec2::254]:80",
  ];
  for (const port of ["", ":8080"]) expect(judgeAddress(`http://${host}${port}/`, wide).effect).toBe("DENY");
});

/** Every way the URL standard has to write an IPv4 address. */
const spelling = fc
  .tuple(
    fc.oneof(
      fc.tuple(fc.constantFrom(0, 10, 127), fc.nat(255), fc.nat(255), fc.nat(255)),
      fc.tuple(fc.constant(192), fc.constant(168), fc.nat(255), fc.nat(255)),
      fc.tuple(fc.constant(169), fc.constant(254), fc.nat(255), fc.nat(255)),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), fc.nat(255), fc.nat(255)),
    ),
    fc.integer({ min: 1, max: 4 }),
    fc.array(fc.constantFrom(8, 10, 16), { minLength: 4, maxLength: 4 }),
    fc.constantFrom(".", "。", "．", "｡"),
    fc.constantFrom("plain", "wide", "escaped", "mapped", "dot"),
  )
  .map(([bytes, parts, bases, dot, form]) => {
    const last = bytes.slice(parts - 1).reduce((value, byte) => value * 256 + byte, 0);
    const numbers = [...bytes.slice(0, parts - 1), last];
    const written = numbers.map((number, at) => {
      const base = bases[at] ?? 10;
      return `${base === 8 ? "0" : base === 16 ? "0x" : ""}${number.toString(base)}`;
    });
    if (form === "mapped") return `[::ffff:${bytes.join(".")}]`;
    const text = written.join(dot);
    if (form === "wide") return text.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
    if (form === "escaped") return text.replaceAll(/\d/g, (digit) => `%3${digit}`);
    return form === "dot" ? `${text}.` : text;
  });

test("no spelling of a closed address gets by, and none is taken for a public one", () => {
  fc.assert(
    fc.property(spelling, fc.constantFrom("", ":8080"), (host, port) => {
      expect(judgeAddress(`http://${host}${port}/`, ["*", "*:8080"]).effect).toBe("DENY");
    }),
    { numRuns: 2000 },
  );
});

test("what is allowed is always a host that the list names, without a control character in it", () => {
  const hosts = fc.string({ unit: fc.constantFrom(...Array.from("exampl.com@:/\\\0\n%2e[]*-0127")), maxLength: 30 });
  fc.assert(
    fc.property(hosts, (text) => {
      for (const url of [`http://${text}`, `http://${text}.example.com/`, `http://example.com${text}`]) {
        const verdict = judgeAddress(url, ["example.com", "*.example.com"]);
        if (verdict.effect === "ALLOW") expect(verdict.target.host).toMatch(/^(?:[a-z0-9_.-]+\.)?example\.com$/);
      }
    }),
    { numRuns: 3000 },
  );
});

// oxfmt-ignore
const LOCAL = [
  ["127.0.0.1:18080",  "http://127.0.0.1:18080/",   "ALLOW"],
  ["127.0.0.1:18080",  "http://0x7f.1:18080/",      "ALLOW"], // the same address
  ["127.0.0.1:18080",  "http://127.0.0.2:18080/",   "DENY"],
  ["127.0.0.1:18080",  "http://127.0.0.1:18081/",   "DENY"],
  ["127.0.0.1:80",     "http://127.0.0.1/",         "ALLOW"],
  ["127.0.0.1",        "http://127.0.0.1/",         "DENY"],
  ["127.0.0.1:18080",  "http://localhost:18080/",   "DENY"],
  ["localhost:3000",   "http://localhost:3000/",    "ALLOW"],
  ["localhost:3000",   "http://localhost.:3000/",   "ALLOW"],
  ["localhost:3000",   "http://127.0.0.1:3000/",    "DENY"],
  ["[::1]:8080",       "http://[::1]:8080/",        "ALLOW"],
  ["10.1.2.3:8080",    "http://10.1.2.3:8080/",     "ALLOW"],
  ["[fd12::1]:8080",   "http://[fd12::1]:8080/",    "ALLOW"],
  ["127.0.0.1:8080",   "http://[::ffff:127.0.0.1]:8080/", "DENY"],
  ["[::ffff:127.0.0.1]:8080", "http://[::ffff:127.0.0.1]:8080/", "DENY"],
  ["169.254.169.254:80", "http://169.254.169.254/", "DENY"],
  ["0.0.0.0:8080",     "http://0.0.0.0:8080/",      "DENY"],
] as const;

test.each(LOCAL)("with %s on the list, %s: %s", (entry, url, effect) => {
  expect(judgeAddress(url, [entry]).effect).toBe(effect);
});

test("a resolved address is judged by what it is, and only localhost stays on this machine", () => {
  const judge = (url: string, allow: string, address: string): unknown => {
    const verdict = judgeAddress(url, [allow]);
    return verdict.effect === "ALLOW" ? judgeResolved(verdict.target, address) : verdict;
  };
  expect(judge("http://example.com/", "example.com", "93.184.215.14")).toBeUndefined();
  expect(judge("http://example.com/", "example.com", "127.0.0.1")).toMatchObject({
    reason: expect.stringContaining("loopback") as unknown,
  });
  expect(judge("http://example.com/", "example.com", "fe80::1%eth0")).toMatchObject({
    reason: expect.stringContaining("not resolve to a valid address") as unknown,
  });
  expect(judge("http://localhost:80/", "localhost:80", "127.0.0.1")).toBeUndefined();
  expect(judge("http://localhost:80/", "localhost:80", "10.0.0.1")).toMatchObject({
    reason: expect.stringContaining("private") as unknown,
  });
});

// oxfmt-ignore
const BAD_ENTRIES = [
  ["https://example.com", /write the host alone/],
  ["example.com/path",    /only hosts/],
  ["10.0.0.0/8",          /only hosts/],
  ["*example.com",        /must be example/],
  ["a.*.com",             /must be example/],
  ["",                    /must be example/],
  ["user@example.com",    /must be example/],
  ["exa mple.com",        /must be example/],
  ["evil\0.example.com",  /not a valid host name/],
  ["a..b",                /not a valid host name/],
  ["example.com:0",       /port 0 is not valid/],
  ["example.com:70000",   /port 70000 is not valid/],
  ["*.127.0.0.1",         /an address has no subdomains/],
] as const;

test.each(BAD_ENTRIES)("%j is not a valid allowlist entry, and opens nothing", (entry, says) => {
  expect(explainBadEntry(entry)).toMatch(says);
  expect(judgeAddress("https://example.com/", [entry]).effect).toBe("DENY");
});

test.each([...ALLOW, "*", "*:8080", "127.0.0.1:80", "[::1]:80", "EXAMPLE.com."])("%j is an entry", (entry) => {
  expect(explainBadEntry(entry)).toBeUndefined();
});

test("messages show an address without credentials, query and fragment, and not endlessly", () => {
  expect(showAddress("https://user:pass@example.com/a?key=secret#x")).toBe("https://example.com/a");
  expect(showAddress("no url")).toBe("no url");
  expect(showAddress("https://user:pass@no host/")).toBe("https://no host/");
  expect(showAddress(`https://example.com/${"a".repeat(500)}`).length).toBe(201);
});

// oxfmt-ignore
const INTERSECTIONS = [
  { one: ["example.com"],              other: ["example.com"],                 both: ["example.com"] },
  { one: ["example.com"],              other: ["other.org"],                   both: [] },
  { one: ["*"],                        other: ["example.com", "*.other.org"],  both: ["example.com", "*.other.org"] },
  { one: ["example.com"],              other: ["*"],                           both: ["example.com"] },
  { one: ["*.example.com"],            other: ["a.example.com", "example.com"], both: ["a.example.com"] },
  { one: ["*.example.com"],            other: ["*.a.example.com"],             both: ["*.a.example.com"] },
  { one: ["*.example.com"],            other: ["*.example.com", "*"],          both: ["*.example.com"] },
  { one: ["*.example.com"],            other: ["*.badexample.com"],            both: [] },
  { one: ["example.com:8443"],         other: ["*:8443"],                      both: ["example.com:8443"] },
  { one: ["example.com"],              other: ["example.com:443"],             both: [] },
  { one: ["example.com:8443"],         other: ["example.com"],                 both: [] },
  { one: ["127.0.0.1:80"],             other: ["*:80"],                        both: [] },
  { one: ["1.1.1.1"],                  other: ["*", "1.1.1.1"],                both: ["1.1.1.1"] },
  { one: ["localhost:3000"],           other: ["*:3000"],                      both: [] },
  { one: ["localhost:3000"],           other: ["localhost:3000"],              both: ["localhost:3000"] },
  { one: ["[::1]:80"],                 other: ["*:80", "[::1]:80"],            both: ["[::1]:80"] },
  { one: [],                           other: ["*"],                           both: [] },
] as const;

for (const { one, other, both } of INTERSECTIONS) {
  test(`what [${one.join(", ")}] and [${other.join(", ")}] both open is [${both.join(", ")}]`, () => {
    expect(intersectAllowlists(one, other)).toEqual(both);
    expect(new Set(intersectAllowlists(other, one))).toEqual(new Set(both));
  });
}

test("an intersection opens nothing that one of the two lists does not", () => {
  const hosts = [
    "example.com",
    "a.example.com",
    "b.a.example.com",
    "other.org",
    "127.0.0.1",
    "1.1.1.1",
    "localhost",
    "[::1]",
  ];
  const anyEntry = fc
    .tuple(
      fc.constantFrom(...hosts, "*", "*.example.com", "*.a.example.com"),
      fc.constantFrom("", ":80", ":443", ":8443"),
    )
    .map((parts) => parts.join(""));
  const anyUrl = fc
    .tuple(fc.constantFrom("http", "https"), fc.constantFrom(...hosts), fc.constantFrom("", ":80", ":443", ":8443"))
    .map(([scheme, host, port]) => `${scheme}://${host}${port}/`);
  const anyList = fc.array(anyEntry, { maxLength: 4 });
  fc.assert(
    fc.property(anyList, anyList, anyUrl, (one, other, url) => {
      const isOpen = judgeAddress(url, intersectAllowlists(one, other)).effect === "ALLOW";
      if (isOpen) expect([one, other].map((list) => judgeAddress(url, list).effect)).toEqual(["ALLOW", "ALLOW"]);
    }),
    { numRuns: 5000 },
  );
});
