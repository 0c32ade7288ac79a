/** What Telegram takes as the address of a link: the rules of its own parser, which are looser and stricter than URL's. */

const SCHEME = /^([^:/?#@[\]]*):\/\//;
const OWN = /^(tg|ton|tonsite):(?:\/\/)?/i;
const ALLOWED = /^(?:[\w.\-!$,~*'();&+=]|%[\da-f]{2}|[^\0-\x7f])*$/i;
const ALLOWED_OF_USER = /^(?:[\w.\-!$,~*'();&+=:]|%[\da-f]{2}|[^\0-\x7f])*$/i;

/** Says why the address is refused; undefined where it is taken. */
export function whyNoLink(url: string): string | undefined {
  const own = OWN.exec(url);
  const rest = own === null ? url : url.slice(own[0].length);
  const [, scheme] = SCHEME.exec(rest) ?? [];
  if (scheme !== undefined && !["http", "https"].includes(scheme.toLowerCase())) return "Unsupported URL protocol";
  const place = (scheme === undefined ? rest : rest.slice(scheme.length + 3)).split(/[/?#]/, 1)[0] ?? "";
  const [, before = "", port] = /^(.+):([^:\]@]*)$/s.exec(place) ?? [undefined, place];
  if (port !== undefined && !(/^\d+$/.test(port) && Number(port) > 0 && Number(port) <= 65_535))
    return "Wrong port number specified in the URL";
  const at = before.lastIndexOf("@");
  const [user, host] = [before.slice(0, Math.max(0, at)), before.slice(at + 1)];
  return own === null ? whyNoPlace(user, host) : whyNoOwnPlace(host);
}

function whyNoPlace(user: string, host: string): string | undefined {
  const isIpv6 = /^\[.*\]$/.test(host);
  if (isIpv6) return /^\[[\d:a-f.]+\]$/i.test(host) ? undefined : "Wrong IPv6 address specified in the URL";
  if (host === "") return "URL host is empty";
  if (host === ".") return "Host is invalid";
  for (const [part, name, allowed] of [
    [host, "host", ALLOWED],
    [user, "userinfo", ALLOWED_OF_USER],
  ] as const) {
    if (allowed.test(part)) continue;
    return /%(?![\da-f]{2})/i.test(part)
      ? `Wrong percent-encoded symbol in URL ${name}`
      : `Disallowed character in URL ${name}`;
  }
  return host.includes(".") ? undefined : "Wrong HTTP URL";
}

function whyNoOwnPlace(host: string): string | undefined {
  if (host === "") return "URL host is empty";
  return /^[\w.-]+$/.test(host) ? undefined : "Unallowed characters in URL host";
}
