import { closedAs, isLoopback, parseAddress } from "./addresses.ts";

/** Where a request may go, in the one form that is judged, connected to and told. */
export interface Target {
  /** Without a fragment, the host as below. */
  readonly href: string;
  readonly origin: string;
  readonly scheme: "http" | "https";
  /** A name in lower-case ASCII without a last dot, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Its bytes, where the host is an address and no name. It was judged: there is nothing more to ask. */
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

/** Longer ones are no address that anybody means, and servers refuse them. */
const LONGEST_URL = 16_384;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Names that are answered by this machine or its own network, whatever the resolver says. */
// oxfmt-ignore
const LOCAL_NAMES = ["localhost", "local", "localdomain", "internal", "home.arpa"] as const;

/**
 * May a request go to this URL, as far as can be told before its name is resolved? Pure, never throws.
 * `allow` is the allowlist: `example.com`, `*.example.com` (not `example.com` itself), `*` (every public name), each
 * for the ports 80 (http) and 443 (https), or with the one port that is meant: `example.com:8443`. Nothing on it,
 * nothing is reached. A loopback or private address is reached only where it stands there itself with its port
 * (`127.0.0.1:18080`, `[::1]:8080`, `localhost:3000`); a name never leads to one.
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

/** Whether a resolved address may be connected to: undefined where it may. */
export function judgeResolved(target: Target, address: string): { readonly reason: string } | undefined {
  const bytes = parseAddress(address);
  if (bytes === undefined) return { reason: "its name leads to what is no address" };
  // A name on the allowlist by itself, and the only one that stays on this machine.
  if (target.host === "localhost" && isLoopback(bytes)) return undefined;
  const closed = closedAs(bytes);
  // Which one is not told: it would draw a map of the network behind the machine.
  return closed && { reason: `its name leads to ${closed.what}` };
}

/** The URL as messages show it: no credentials, no query, not endless. */
export function showAddress(urlText: string): string {
  const url = URL.canParse(urlText) ? new URL(urlText) : undefined;
  const shown =
    url === undefined || url.host === ""
      ? urlText.replace(/\/\/[^/?#]*@/, "//")
      : `${url.protocol}//${url.host}${url.pathname}`;
  return shown.length <= 200 ? shown : `${shown.slice(0, 200)}…`;
}

/** Why a line of the allowlist means nothing; undefined where it does. Such a line opens nothing. */
export function explainBadEntry(text: string): string | undefined {
  const entry = readEntry(text);
  return typeof entry === "string" ? entry : undefined;
}

/**
 * The lines that open what both lists open, and nothing else: of two that overlap the narrower one. Where only one of
 * them names its port no line says what both do, so there is none.
 */
export function intersectAllowlists(one: readonly string[], other: readonly string[]): string[] {
  const [ours, theirs] = [entriesOf(one), entriesOf(other)];
  const inBoth = [
    ...ours.filter((entry) => theirs.some((each) => contains(each, entry))),
    ...theirs.filter((entry) => ours.some((each) => contains(each, entry))),
  ];
  return [...new Set(inBoth.map(({ text }) => text))];
}

/** Whether a line opens all that another one opens. */
function contains(wide: Entry, narrow: Entry): boolean {
  if (wide.port !== narrow.port) return false;
  if (wide.kind === "exact") return narrow.kind === "exact" && wide.host === narrow.host;
  // An address and the name of this machine are opened by no line but their own.
  if (narrow.kind === "exact" && (narrow.host === "localhost" || parseAddress(narrow.host) !== undefined)) return false;
  if (wide.kind === "every") return true;
  return narrow.host.endsWith(`.${wide.host}`) || (narrow.kind === "below" && narrow.host === wide.host);
}

function readTarget(urlText: string): Target | AddressVerdict {
  if (urlText.length > LONGEST_URL) return invalid(`it is longer than ${LONGEST_URL} characters`);
  // The URL parser takes some of them out, and what is left is not what a person read.
  if (CONTROL.test(urlText)) return invalid("it holds control characters");
  if (urlText.includes("\\")) return invalid('it holds a "\\", which parsers read in different ways');
  if (!URL.canParse(urlText)) return invalid("it is no complete URL, such as https://example.com/page");
  const url = new URL(urlText);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return deny(`only http and https are spoken, not "${url.protocol.slice(0, -1)}"`);
  }
  if (url.username !== "" || url.password !== "") return deny("it holds a user name or password");
  url.hash = "";
  url.hostname = withoutLastDot(url.hostname);
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const address = parseAddress(host);
  if (address === undefined && !isName(host)) return invalid(`"${host}" is no name of a host`);
  const scheme = url.protocol === "http:" ? "http" : "https";
  const port = url.port === "" ? DEFAULT_PORTS[scheme] : Number(url.port);
  if (port === 0) return invalid("there is no port 0");
  return { href: url.href, origin: url.origin, scheme, host, port, address };
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

function withoutLastDot(host: string): string {
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

/** What the domain name system knows; the URL parser lets more through. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

function isName(host: string): boolean {
  return host.length <= 253 && host.split(".").every((label) => LABEL.test(label));
}

/** Why the host is not out there; undefined where it is, or may be. */
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

/** Remembered, not state: the same list always reads the same. */
const entriesByList = new WeakMap<readonly string[], readonly Entry[]>();

function entriesOf(allow: readonly string[]): readonly Entry[] {
  const known = entriesByList.get(allow);
  if (known !== undefined) return known;
  const entries = allow.map(readEntry).filter((entry) => typeof entry !== "string");
  entriesByList.set(allow, entries);
  return entries;
}

const ENTRY = /^(?:(\*)|(\*\.)?([^\s*:/\\@?#[\]%]+|\[[0-9a-fA-F:.]+\]))(?::(\d{1,5}))?$/;

/** A line of the allowlist, or why it is none. */
function readEntry(text: string): Entry | string {
  if (/^[a-z]+:\/\//i.test(text)) return "it is a URL; write the host alone, such as example.com";
  if (text.includes("/")) return "it holds a path or a range; only hosts are told apart";
  const [, every, below, written = "", portText] = ENTRY.exec(text) ?? [];
  if (every === undefined && written === "") {
    return "it is none of example.com, *.example.com, * and an address, each with or without a port";
  }
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > 65_535)) return `there is no port ${port}`;
  if (every !== undefined) return { text, kind: "every", host: "", port };
  const target = readTarget(`http://${written}/`);
  if ("effect" in target) return `"${written}" is no name of a host`;
  if (below !== undefined && target.address !== undefined) return "there is nothing below an address";
  return { text, kind: below === undefined ? "exact" : "below", host: target.host, port };
}

function deny(reason: string): AddressVerdict {
  return { effect: "DENY", code: "NetworkDenied", reason };
}

function invalid(reason: string): AddressVerdict {
  return { effect: "DENY", code: "InvalidArguments", reason };
}
