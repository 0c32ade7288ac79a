import { closedAs, isLoopback, parseAddress } from "./addresses.ts";

/** The target of a request, normalized once: the same form is checked, connected to and shown. */
export interface Target {
  /** Without a fragment, the host as below. */
  readonly href: string;
  readonly origin: string;
  readonly scheme: "http" | "https";
  /** A name in lower-case ASCII without a trailing dot, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Its bytes if the host is an address, not a name. The address was checked already; no lookup is needed. */
  readonly address: Uint8Array | undefined;
}

export type AddressVerdict =
  | { readonly effect: "ALLOW"; readonly target: Target; readonly entry: string }
  | {
      readonly effect: "DENY";
      readonly code: "InvalidArguments" | "NetworkDenied";
      /** A clause about the address: "it is a loopback address". */
      readonly reason: string;
    };

/** Servers refuse longer URLs anyway. */
const LONGEST_URL = 16_384;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Names that resolve to this machine or its local network, whatever the resolver says. */
// oxfmt-ignore
const LOCAL_NAMES = ["localhost", "local", "localdomain", "internal", "home.arpa"] as const;

/**
 * Whether a request may go to this URL, as far as can be decided before its name is resolved. Pure, never throws.
 * `allow` is the allowlist: `example.com`, `*.example.com` (not `example.com` itself), `*` (every public name), each
 * for the ports 80 (http) and 443 (https), or for one explicit port: `example.com:8443`. An empty list allows nothing.
 * A loopback or private address is reachable only if the list names it with its port (`127.0.0.1:18080`,
 * `[::1]:8080`, `localhost:3000`); a name may never resolve to one.
 */
export function judgeAddress(urlText: string, allow: readonly string[]): AddressVerdict {
  const target = readTarget(urlText);
  if ("effect" in target) return target;
  if (allow.length === 0)
    return deny('the network is off: the allowlist ("network.allow" in the configuration) is empty');
  const entries = entriesOf(allow);
  const local = localAs(target);
  if (local !== undefined) {
    const named = local.nameable === true ? entries.find((entry) => namesExactly(entry, target)) : undefined;
    if (named !== undefined) return { effect: "ALLOW", target, entry: named.text };
    return deny(`it is ${local.what}`);
  }
  const found = entries.find((entry) => covers(entry, target));
  if (found !== undefined) return { effect: "ALLOW", target, entry: found.text };
  if (entries.some((entry) => coversHost(entry, target))) {
    return deny(`the allowlist has "${target.host}", but not with port ${target.port}`);
  }
  return deny(`"${target.host}" is not on the network allowlist`);
}

/** Why a resolved address must not be connected to; undefined if it may. */
export function judgeResolved(target: Target, address: string): { readonly reason: string } | undefined {
  const bytes = parseAddress(address);
  if (bytes === undefined) return { reason: "its name does not resolve to a valid address" };
  // localhost, listed explicitly, is the only name that may resolve to this machine.
  if (target.host === "localhost" && isLoopback(bytes)) return undefined;
  const closed = closedAs(bytes);
  // The message does not name the address: that would reveal the internal network.
  return closed && { reason: `its name resolves to ${closed.what}` };
}

/** The URL as messages show it: without credentials and query, truncated. */
export function showAddress(urlText: string): string {
  const url = URL.canParse(urlText) ? new URL(urlText) : undefined;
  const shown =
    url === undefined || url.host === ""
      ? urlText.replace(/\/\/[^/?#]*@/, "//")
      : `${url.protocol}//${url.host}${url.pathname}`;
  return shown.length <= 200 ? shown : `${shown.slice(0, 200)}…`;
}

/** Why an allowlist entry is invalid; undefined if it is valid. An invalid entry opens nothing. */
export function explainBadEntry(text: string): string | undefined {
  const entry = readEntry(text);
  return typeof entry === "string" ? entry : undefined;
}

/**
 * The entries that open exactly what both lists open: of two that overlap, the narrower one. If only one of them names
 * its port, no entry can express the overlap, so both are dropped.
 */
export function intersectAllowlists(one: readonly string[], other: readonly string[]): string[] {
  const [ours, theirs] = [entriesOf(one), entriesOf(other)];
  const inBoth = [
    ...ours.filter((entry) => theirs.some((each) => contains(each, entry))),
    ...theirs.filter((entry) => ours.some((each) => contains(each, entry))),
  ];
  return [...new Set(inBoth.map(({ text }) => text))];
}

/** Whether an entry opens everything that another one opens. */
function contains(wide: Entry, narrow: Entry): boolean {
  if (wide.port !== narrow.port) return false;
  if (wide.kind === "exact") return narrow.kind === "exact" && wide.host === narrow.host;
  // Addresses and localhost are opened only by an entry that names them.
  if (narrow.kind === "exact" && (narrow.host === "localhost" || parseAddress(narrow.host) !== undefined)) return false;
  if (wide.kind === "every") return true;
  return narrow.host.endsWith(`.${wide.host}`) || (narrow.kind === "below" && narrow.host === wide.host);
}

function readTarget(urlText: string): Target | AddressVerdict {
  if (urlText.length > LONGEST_URL) return invalid(`it is longer than ${LONGEST_URL} characters`);
  // The URL parser removes some of them, so the result would differ from what a person read.
  if (CONTROL.test(urlText)) return invalid("it contains control characters");
  if (urlText.includes("\\")) return invalid('it contains a "\\", which parsers read in different ways');
  if (!URL.canParse(urlText)) return invalid("it is not a complete URL, such as https://example.com/page");
  const url = new URL(urlText);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return deny(`only http and https are supported, not "${url.protocol.slice(0, -1)}"`);
  }
  if (url.username !== "" || url.password !== "") return deny("it contains a user name or password");
  url.hash = "";
  url.hostname = withoutLastDot(url.hostname);
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const address = parseAddress(host);
  if (address === undefined && !isName(host)) return invalid(`"${host}" is not a valid host name`);
  const scheme = url.protocol === "http:" ? "http" : "https";
  const port = url.port === "" ? DEFAULT_PORTS[scheme] : Number(url.port);
  if (port === 0) return invalid("port 0 is not valid");
  return { href: url.href, origin: url.origin, scheme, host, port, address };
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

function withoutLastDot(host: string): string {
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

/** Valid DNS names; the URL parser accepts more. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

function isName(host: string): boolean {
  return host.length <= 253 && host.split(".").every((label) => LABEL.test(label));
}

/** Why the host is not a public one; undefined if it is or may be. */
function localAs({ host, address }: Target): { readonly what: string; readonly nameable?: true } | undefined {
  if (address !== undefined) return closedAs(address);
  if (host === "localhost") return { what: "the name of this machine", nameable: true };
  if (!host.includes(".")) return { what: "a name without a domain, which only the local network knows" };
  const domain = LOCAL_NAMES.find((name) => host.endsWith(`.${name}`) || host === name);
  return domain === undefined ? undefined : { what: `a name of the local network (".${domain}")` };
}

interface Entry {
  readonly text: string;
  readonly kind: "every" | "below" | "exact";
  readonly host: string;
  readonly port: number | undefined;
}

function namesExactly({ kind, host, port }: Entry, target: Target): boolean {
  return kind === "exact" && host === target.host && port === target.port;
}

function covers(entry: Entry, target: Target): boolean {
  return coversHost(entry, target) && (entry.port ?? DEFAULT_PORTS[target.scheme]) === target.port;
}

function coversHost({ kind, host }: Entry, target: Target): boolean {
  if (kind === "exact") return host === target.host;
  if (target.address !== undefined) return false;
  return kind === "every" || target.host.endsWith(`.${host}`);
}

/** A cache, not state: the same list always compiles to the same. */
const entriesByList = new WeakMap<readonly string[], readonly Entry[]>();

function entriesOf(allow: readonly string[]): readonly Entry[] {
  const known = entriesByList.get(allow);
  if (known !== undefined) return known;
  const entries = allow.map(readEntry).filter((entry) => typeof entry !== "string");
  entriesByList.set(allow, entries);
  return entries;
}

const ENTRY = /^(?:(\*)|(\*\.)?([^\s*:/\\@?#[\]%]+|\[[0-9a-fA-F:.]+\]))(?::(\d{1,5}))?$/;

/** A parsed allowlist entry, or why it is invalid. */
function readEntry(text: string): Entry | string {
  if (/^[a-z]+:\/\//i.test(text)) return "it is a URL; write the host alone, such as example.com";
  if (text.includes("/")) return "it contains a path or a range; only hosts can be listed";
  const [, every, below, written = "", portText] = ENTRY.exec(text) ?? [];
  if (every === undefined && written === "") {
    return "it must be example.com, *.example.com, * or an IP address, each with or without a port";
  }
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > 65_535)) return `port ${port} is not valid`;
  if (every !== undefined) return { text, kind: "every", host: "", port };
  const target = readTarget(`http://${written}/`);
  if ("effect" in target) return `"${written}" is not a valid host name`;
  if (below !== undefined && target.address !== undefined) return "an address has no subdomains";
  return { text, kind: below === undefined ? "exact" : "below", host: target.host, port };
}

function deny(reason: string): AddressVerdict {
  return { effect: "DENY", code: "NetworkDenied", reason };
}

function invalid(reason: string): AddressVerdict {
  return { effect: "DENY", code: "InvalidArguments", reason };
}
