import { BlockList, isIP } from "node:net";
import { ToolError } from "../../protocol/errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A proxy from the environment. */
export interface EnvironmentProxy {
  /** Including user and password, if any. */
  readonly url: URL;
  /** For display: without user and password. */
  readonly shown: string;
  /** The variable that it comes from. */
  readonly variable: string;
}

/** The first variable that is set wins: lower case before upper case, as in other programs. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  "http:": ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
  "https:": ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
};
const SUPPORTED: ReadonlySet<string> = new Set(["http:", "https:"]);
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/**
 * The proxy for requests to an address, by `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`. Undefined for
 * direct requests, such as all to this machine. Throws `InvalidArguments` for an unusable proxy, without naming its
 * password.
 */
export function proxyFor(target: URL, environment: Environment): EnvironmentProxy | undefined {
  const variable = VARIABLES[target.protocol]?.find((name) => (environment[name] ?? "").trim() !== "");
  if (variable === undefined || isLoopback(hostOf(target)) || isExcluded(target, environment)) return undefined;
  const value = (environment[variable] ?? "").trim();
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const refuse = (why: string): ToolError =>
    new ToolError("InvalidArguments", `Cannot use the proxy in ${variable}: ${why}`, {
      variable,
      hint: `Set ${variable} to an address such as http://proxy.example.org:3128, or list the server in NO_PROXY.`,
    });
  if (!URL.canParse(text)) throw refuse("not a valid address (example: http://proxy.example.org:3128)");
  const url = new URL(text);
  if (!SUPPORTED.has(url.protocol))
    throw refuse(`${url.protocol}// proxies are not supported, only http:// and https://`);
  if (!isDecodable(url.username) || !isDecodable(url.password))
    throw refuse("its user or password has an invalid % escape");
  return { url, shown: url.origin, variable };
}

/** False for `%`, `%zz`, and escapes that are not UTF-8: `%ff`. */
function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}

function hostOf({ hostname }: URL): string {
  return hostname
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");
// The unspecified address, which local servers report as theirs: a request to it stays on this machine.
LOOPBACK.addAddress("0.0.0.0", "ipv4");
LOOPBACK.addAddress("::", "ipv6");

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || isListed(LOOPBACK, host);
}

function isListed(list: BlockList, host: string): boolean {
  const version = isIP(host);
  return version !== 0 && list.check(host, version === 4 ? "ipv4" : "ipv6");
}

function isExcluded(target: URL, environment: Environment): boolean {
  const rules = (environment["no_proxy"] ?? environment["NO_PROXY"] ?? "").toLowerCase().split(/[\s,]+/);
  const host = hostOf(target);
  const port = target.port === "" ? DEFAULT_PORTS[target.protocol] : target.port;
  return rules.some((rule) => rule !== "" && isMeant(rule, host, port));
}

/**
 * `*`, `example.org` and `.example.org` (with all subdomains), `*.example.org`, `host:port`, an address, or
 * `10.0.0.0/8`.
 */
function isMeant(rule: string, host: string, port: string | undefined): boolean {
  if (rule === "*") return true;
  // An IPv6 address contains colons, and has a port only after brackets.
  const isBracketed = rule.startsWith("[");
  const isWithPort = isBracketed ? rule.includes("]:") : rule.split(":").length === 2;
  const at = isWithPort ? rule.lastIndexOf(":") : rule.length;
  if (isWithPort && rule.slice(at + 1) !== port) return false;
  const name = rule
    .slice(0, at)
    .replaceAll(/[[\]]/g, "")
    .replace(/^\*?\./, "")
    .replace(/\.$/, "");
  const [address = "", bits = ""] = name.split("/");
  if (isIP(address) !== 0) return isInNet(address, bits, host);
  return name !== "" && (host === name || host.endsWith(`.${name}`));
}

function isInNet(address: string, bits: string, host: string): boolean {
  const family = isIP(address) === 4 ? "ipv4" : "ipv6";
  const most = family === "ipv4" ? 32 : 128;
  const prefix = bits === "" ? most : Number(bits);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > most) return false;
  const list = new BlockList();
  list.addSubnet(address, prefix, family);
  return isListed(list, host);
}
