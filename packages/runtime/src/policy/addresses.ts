/** A row of the table below. */
interface ClosedRow {
  readonly range: string;
  /** What the caller is told: "it is …". */
  readonly what: string;
  /** May be reached all the same where the allowlist names this very address and port. */
  readonly nameable?: true;
  /** The range stands for IPv4 addresses, which begin at this byte: only those that are closed themselves are. */
  readonly embeds_at?: number;
}

type ClosedRange = Pick<ClosedRow, "what" | "nameable">;

/**
 * Addresses that no name and no redirect leads to (spec 3, Network): the special-purpose registries of IANA, and the
 * places where clouds hand out credentials. The first row that matches is told.
 * Prefixes that an operator chose for its own NAT64 cannot be known from here.
 */
// oxfmt-ignore
const CLOSED: readonly ClosedRow[] = [
  { range: "169.254.169.254/32", what: "the metadata service of a cloud" },
  { range: "169.254.170.0/24",   what: "the metadata service of a cloud" }, // credentials of containers
  { range: "100.100.100.200/32", what: "the metadata service of a cloud" },
  { range: "168.63.129.16/32",   what: "the metadata service of a cloud" }, // lies in a public range
  { range: "192.0.0.192/32",     what: "the metadata service of a cloud" },
  { range: "fd00:ec2::/32",      what: "the metadata service of a cloud" },
  { range: "fd20:ce::254/128",   what: "the metadata service of a cloud" },
  { range: "fd00:c1::/32",       what: "the metadata service of a cloud" },
  { range: "fd00:42::42/128",    what: "the metadata service of a cloud" },

  { range: "0.0.0.0/8",          what: "an unspecified address" },
  { range: "10.0.0.0/8",         what: "a private address", nameable: true },
  { range: "100.64.0.0/10",      what: "an address of a carrier's own network", nameable: true },
  { range: "127.0.0.0/8",        what: "a loopback address", nameable: true },
  { range: "169.254.0.0/16",     what: "a link-local address" },
  { range: "172.16.0.0/12",      what: "a private address", nameable: true },
  { range: "192.0.0.0/24",       what: "an address kept for protocols" },
  { range: "192.0.2.0/24",       what: "an address kept for documentation" },
  { range: "192.88.99.0/24",     what: "an address of a 6to4 relay" },
  { range: "192.168.0.0/16",     what: "a private address", nameable: true },
  { range: "198.18.0.0/15",      what: "an address kept for benchmarks" },
  { range: "198.51.100.0/24",    what: "an address kept for documentation" },
  { range: "203.0.113.0/24",     what: "an address kept for documentation" },
  { range: "224.0.0.0/4",        what: "a multicast address" },
  { range: "255.255.255.255/32", what: "the broadcast address" },
  { range: "240.0.0.0/4",        what: "a reserved address" },

  { range: "::/128",             what: "an unspecified address" },
  { range: "::1/128",            what: "a loopback address", nameable: true },
  { range: "::ffff:0:0/96",      what: "an IPv4 address in the form of an IPv6 one" },
  { range: "::ffff:0:0:0/96",    what: "an IPv4 address in the form of an IPv6 one" }, // translated (SIIT)
  { range: "::/96",              what: "an IPv4 address in the form of an IPv6 one" },
  { range: "64:ff9b::/96",       what: "a closed IPv4 address behind NAT64", embeds_at: 12 },
  { range: "64:ff9b:1::/48",     what: "an address of a local NAT64" },
  { range: "100::/64",           what: "an address that discards what it gets" },
  { range: "2001::/32",          what: "a Teredo address" },
  { range: "2001:db8::/32",      what: "an address kept for documentation" },
  { range: "2001::/23",          what: "an address kept for protocols" },
  { range: "2002::/16",          what: "a 6to4 address" },
  { range: "3fff::/20",          what: "an address kept for documentation" },
  { range: "fc00::/7",           what: "a private address", nameable: true },
  { range: "fe80::/10",          what: "a link-local address" },
  { range: "fec0::/10",          what: "a site-local address" },
  { range: "ff00::/8",           what: "a multicast address" },
];

/** All of IPv6 that is handed out to be reached from everywhere lies in here. */
const GLOBAL_UNICAST = "2000::/3";
const NOT_GLOBAL: ClosedRange = { what: "an address that is not handed out" };

const ISATAP: ClosedRange = { what: "an ISATAP address" };

/** The bytes of an address or prefix as one number. */
interface Range {
  readonly value: bigint;
  readonly length: number;
  /** How many bits at the end tell nothing. */
  readonly open_bits: bigint;
}

interface Compiled {
  readonly rows: readonly (ClosedRow & { readonly compiled: Range })[];
  readonly global: Range;
}

let compiled: Compiled | undefined;

/** Why an address of 4 or 16 bytes is never reached; undefined where it is an ordinary public one. */
export function closedAs(address: Uint8Array): ClosedRange | undefined {
  const { rows, global } = (compiled ??= compile());
  for (const row of rows) {
    if (!lies(address, row.compiled)) continue;
    if (row.embeds_at === undefined) return row;
    const inner = closedAs(address.subarray(row.embeds_at, row.embeds_at + 4));
    return inner === undefined ? undefined : { what: row.what };
  }
  if (address.length === 4) return undefined;
  if (!lies(address, global)) return NOT_GLOBAL;
  return isIsatap(address) ? ISATAP : undefined;
}

export function isLoopback(address: Uint8Array): boolean {
  if (address.length === 4) return address[0] === 127;
  return address.every((byte, at) => byte === (at === 15 ? 1 : 0));
}

function compile(): Compiled {
  return {
    rows: CLOSED.map((row) => ({ ...row, compiled: compileRange(row.range) })),
    global: compileRange(GLOBAL_UNICAST),
  };
}

function compileRange(range: string): Range {
  const [text = "", bits = ""] = range.split("/");
  // Every row of the table is an address; one that is not fails here at the first use.
  const prefix = parseAddress(text) as Uint8Array;
  return { value: numberOf(prefix), length: prefix.length, open_bits: BigInt(prefix.length * 8 - Number(bits)) };
}

function lies(address: Uint8Array, { value, length, open_bits }: Range): boolean {
  return address.length === length && numberOf(address) >> open_bits === value >> open_bits;
}

function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

/** `::0:5efe:a.b.c.d` and `::200:5efe:a.b.c.d`, below any prefix. */
function isIsatap(address: Uint8Array): boolean {
  return (numberOf(address.subarray(8, 12)) & ~0x0200_0000n) === 0x5efen;
}

const DECIMAL = /^(?:0|[1-9]\d{0,2})$/;
const HEXADECIMAL = /^[0-9a-f]{1,4}$/i;

/**
 * The bytes of an address in the one usual spelling of IPv4, or any of IPv6. Undefined for everything else: octal,
 * short and other odd notations are turned into the usual one by the URL parser, or are no address.
 */
export function parseAddress(text: string): Uint8Array | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split(".", 5);
  if (parts.length !== 4 || !parts.every((part) => DECIMAL.test(part) && Number(part) <= 255)) return undefined;
  return Uint8Array.from(parts, Number);
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split("::", 3);
  if (halves.length > 2) return undefined;
  const [left = "", right] = halves;
  const before = parseGroups(left, right === undefined);
  const after = parseGroups(right ?? "", true);
  if (before === undefined || after === undefined) return undefined;
  const missing = 16 - before.length - after.length;
  // "::" stands for one group at least.
  if (right === undefined ? missing !== 0 : missing < 2) return undefined;
  return Uint8Array.from([...before, ...Array<number>(missing).fill(0), ...after]);
}

/** Groups of two bytes. The last one may be an IPv4 address, where the groups end the whole address. */
function parseGroups(text: string, isEnd: boolean): readonly number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":", 9);
  for (const [at, group] of groups.entries()) {
    if (HEXADECIMAL.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
      continue;
    }
    const ipv4 = isEnd && at === groups.length - 1 ? parseIpv4(group) : undefined;
    if (ipv4 === undefined) return undefined;
    bytes.push(...ipv4);
  }
  return bytes;
}
