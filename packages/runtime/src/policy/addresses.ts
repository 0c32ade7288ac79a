/** A row of the table below. */
interface ClosedRow {
  readonly range: string;
  /** Completes the message "it is …". */
  readonly what: string;
  /** Reachable anyway if the allowlist names exactly this address and port. */
  readonly nameable?: true;
  /** The range embeds IPv4 addresses starting at this byte: only those whose IPv4 address is closed are closed. */
  readonly embeds_at?: number;
}

type ClosedRange = Pick<ClosedRow, "what" | "nameable">;

/**
 * Addresses that no name and no redirect may lead to (spec 3, Network): the IANA special-purpose registries and cloud
 * metadata services, which hand out credentials. Messages name the first row that matches.
 * Operator-specific NAT64 prefixes cannot be known here.
 */
// oxfmt-ignore
const CLOSED: readonly ClosedRow[] = [
  { range: "169.254.169.254/32", what: "a cloud metadata service" },
  { range: "169.254.170.0/24",   what: "a cloud metadata service" }, // credentials of containers
  { range: "100.100.100.200/32", what: "a cloud metadata service" },
  { range: "168.63.129.16/32",   what: "a cloud metadata service" }, // inside a public range
  { range: "192.0.0.192/32",     what: "a cloud metadata service" },
  { range: "fd00:ec2::/32",      what: "a cloud metadata service" },
  { range: "fd20:ce::254/128",   what: "a cloud metadata service" },
  { range: "fd00:c1::/32",       what: "a cloud metadata service" },
  { range: "fd00:42::42/128",    what: "a cloud metadata service" },

  { range: "0.0.0.0/8",          what: "an unspecified address" },
  { range: "10.0.0.0/8",         what: "a private address", nameable: true },
  { range: "100.64.0.0/10",      what: "a carrier-grade NAT address", nameable: true },
  { range: "127.0.0.0/8",        what: "a loopback address", nameable: true },
  { range: "169.254.0.0/16",     what: "a link-local address" },
  { range: "172.16.0.0/12",      what: "a private address", nameable: true },
  { range: "192.0.0.0/24",       what: "an address reserved for protocols" },
  { range: "192.0.2.0/24",       what: "an address reserved for documentation" },
  { range: "192.88.99.0/24",     what: "an address of a 6to4 relay" },
  { range: "192.168.0.0/16",     what: "a private address", nameable: true },
  { range: "198.18.0.0/15",      what: "an address reserved for benchmarks" },
  { range: "198.51.100.0/24",    what: "an address reserved for documentation" },
  { range: "203.0.113.0/24",     what: "an address reserved for documentation" },
  { range: "224.0.0.0/4",        what: "a multicast address" },
  { range: "255.255.255.255/32", what: "the broadcast address" },
  { range: "240.0.0.0/4",        what: "a reserved address" },

  { range: "::/128",             what: "an unspecified address" },
  { range: "::1/128",            what: "a loopback address", nameable: true },
  { range: "::ffff:0:0/96",      what: "an IPv6 address that embeds an IPv4 one" },
  { range: "::ffff:0:0:0/96",    what: "an IPv6 address that embeds an IPv4 one" }, // translated (SIIT)
  { range: "::/96",              what: "an IPv6 address that embeds an IPv4 one" },
  { range: "64:ff9b::/96",       what: "a blocked IPv4 address behind NAT64", embeds_at: 12 },
  { range: "64:ff9b:1::/48",     what: "an address of a local NAT64" },
  { range: "100::/64",           what: "a discard-only address" },
  { range: "2001::/32",          what: "a Teredo address" },
  { range: "2001:db8::/32",      what: "an address reserved for documentation" },
  { range: "2001::/23",          what: "an address reserved for protocols" },
  { range: "2002::/16",          what: "a 6to4 address" },
  { range: "3fff::/20",          what: "an address reserved for documentation" },
  { range: "fc00::/7",           what: "a private address", nameable: true },
  { range: "fe80::/10",          what: "a link-local address" },
  { range: "fec0::/10",          what: "a site-local address" },
  { range: "ff00::/8",           what: "a multicast address" },
];

/** All globally routable IPv6 addresses are in this range. */
const GLOBAL_UNICAST = "2000::/3";
const NOT_GLOBAL: ClosedRange = { what: "an unallocated address" };

const ISATAP: ClosedRange = { what: "an ISATAP address" };

/** The bytes of an address or prefix as one number. */
interface Range {
  readonly value: bigint;
  readonly length: number;
  /** Number of trailing bits to ignore. */
  readonly open_bits: bigint;
}

interface Compiled {
  readonly rows: readonly (ClosedRow & { readonly compiled: Range })[];
  readonly global: Range;
}

let compiled: Compiled | undefined;

/** Why an address of 4 or 16 bytes is blocked; undefined for an ordinary public address. */
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
  // An invalid row of the table fails here at the first use.
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
 * The bytes of an address in dotted-decimal IPv4 or in any IPv6 notation. Undefined for everything else: the URL parser
 * converts octal, short and other unusual notations to dotted-decimal, or rejects them.
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
  // "::" replaces at least one group.
  if (right === undefined ? missing !== 0 : missing < 2) return undefined;
  return Uint8Array.from([...before, ...Array<number>(missing).fill(0), ...after]);
}

/** Groups of two bytes. The last one may be an IPv4 address if it ends the whole address. */
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
