import { expect, test } from "vitest";
import { proxyFor } from "./environment-proxy.ts";

const P = "http://proxy.test:3128";
const Q = "http://other.test:8080";

// oxfmt-ignore
const CASES: readonly { title: string; url: string; environment: Record<string, string>; goes: string | undefined }[] = [
  { title: "nothing set",                               url: "https://a.test/",           environment: {},                                            goes: undefined },
  { title: "HTTPS_PROXY for https",                     url: "https://a.test/",           environment: { HTTPS_PROXY: P },                            goes: "HTTPS_PROXY" },
  { title: "HTTPS_PROXY for http",                      url: "http://a.test/",            environment: { HTTPS_PROXY: P },                            goes: undefined },
  { title: "HTTP_PROXY for http",                       url: "http://a.test/",            environment: { HTTP_PROXY: P },                             goes: "HTTP_PROXY" },
  { title: "lower case before upper case",              url: "http://a.test/",            environment: { HTTP_PROXY: P, http_proxy: Q },              goes: "http_proxy" },
  { title: "an empty one",                              url: "http://a.test/",            environment: { http_proxy: " ", HTTP_PROXY: P },            goes: "HTTP_PROXY" },
  { title: "ALL_PROXY for the rest",                    url: "https://a.test/",           environment: { ALL_PROXY: P, HTTP_PROXY: Q },               goes: "ALL_PROXY" },
  { title: "a proxy without its scheme",                url: "https://a.test/",           environment: { https_proxy: "proxy.test:3128" },            goes: "https_proxy" },
  { title: "a host that is excluded",                   url: "https://a.test/",           environment: { ALL_PROXY: P, NO_PROXY: "b.test, a.test" },  goes: undefined },
  { title: "a subdomain of an excluded host",         url: "https://x.a.test/",         environment: { ALL_PROXY: P, no_proxy: "a.test" },          goes: undefined },
  { title: "a domain that is excluded",                 url: "https://x.a.test/",         environment: { ALL_PROXY: P, no_proxy: ".a.test" },         goes: undefined },
  { title: "a pattern that is excluded",                url: "https://x.a.test/",         environment: { ALL_PROXY: P, no_proxy: "*.a.test" },        goes: undefined },
  { title: "a name that only has the same ending",               url: "https://nota.test/",        environment: { ALL_PROXY: P, no_proxy: "a.test" },          goes: "ALL_PROXY" },
  { title: "a name with an excluded one in front",      url: "https://a.test.evil.test/", environment: { ALL_PROXY: P, no_proxy: "a.test" },          goes: "ALL_PROXY" },
  { title: "capitals in the exclusion",                 url: "https://a.test/",           environment: { ALL_PROXY: P, NO_PROXY: "A.TEST" },          goes: undefined },
  { title: "everything excluded",                       url: "https://a.test/",           environment: { ALL_PROXY: P, NO_PROXY: "*" },               goes: undefined },
  { title: "another port than the excluded one",        url: "https://a.test:8443/",      environment: { ALL_PROXY: P, NO_PROXY: "a.test:443" },      goes: "ALL_PROXY" },
  { title: "the excluded port",                         url: "https://a.test/",           environment: { ALL_PROXY: P, NO_PROXY: "a.test:443" },      goes: undefined },
  { title: "an excluded network",                       url: "http://10.1.2.3:11434/",    environment: { ALL_PROXY: P, NO_PROXY: "10.0.0.0/8" },      goes: undefined },
  { title: "an address outside of an excluded network", url: "http://11.1.2.3:11434/",    environment: { ALL_PROXY: P, NO_PROXY: "10.0.0.0/8" },      goes: "ALL_PROXY" },
  { title: "an excluded address",                       url: "http://10.1.2.3/",          environment: { ALL_PROXY: P, NO_PROXY: "10.1.2.3" },        goes: undefined },
  { title: "an excluded address of IPv6",               url: "http://[fd00::1]/",         environment: { ALL_PROXY: P, NO_PROXY: "[fd00::1]" },       goes: undefined },
  { title: "an excluded network of IPv6",               url: "http://[fd00::7]/",         environment: { ALL_PROXY: P, NO_PROXY: "fd00::/8" },        goes: undefined },
  { title: "a broken network, which excludes nothing",  url: "http://10.1.2.3/",          environment: { ALL_PROXY: P, NO_PROXY: "10.0.0.0/99" },     goes: "ALL_PROXY" },
  { title: "localhost",                                 url: "http://localhost:11434/",   environment: { ALL_PROXY: P },                              goes: undefined },
  { title: "this machine by number",                    url: "http://127.0.0.9/",         environment: { ALL_PROXY: P },                              goes: undefined },
  { title: "all addresses, as a local server names its own", url: "http://0.0.0.0:11434/", environment: { ALL_PROXY: P },                            goes: undefined },
  { title: "this machine by IPv6",                      url: "http://[::1]:8080/",        environment: { ALL_PROXY: P },                              goes: undefined },
];

for (const { title, url, environment, goes } of CASES) {
  test(`${title}: requests to ${url} go ${goes === undefined ? "directly" : `by ${goes}`}`, () => {
    expect(proxyFor(new URL(url), environment)?.variable).toBe(goes);
  });
}

test("a proxy is shown without its password", () => {
  const proxy = proxyFor(new URL("https://a.test/"), { HTTPS_PROXY: "http://me:s3cret@proxy.test:3128/x" });
  expect(proxy?.shown).toBe("http://proxy.test:3128");
  expect(proxy?.url.password).toBe("s3cret");
});

// oxfmt-ignore
const REFUSED = [
  { value: "socks5://me:s3cret@127.0.0.1:1080", says: "Cannot use the proxy in ALL_PROXY: socks5:// proxies are not supported, only http:// and https://" },
  { value: "http://me:s3cret%@proxy.test",      says: "Cannot use the proxy in ALL_PROXY: its user or password has an invalid % escape" },
  { value: "http://me:s3cret%ff@proxy.test",    says: "Cannot use the proxy in ALL_PROXY: its user or password has an invalid % escape" },
  { value: "http://me:s3cret@:99999",           says: "Cannot use the proxy in ALL_PROXY: not a valid address (example: http://proxy.example.org:3128)" },
] as const;

for (const { value, says } of REFUSED) {
  test(`a proxy that cannot be used is refused without its password: ${value.slice(0, 9)}`, () => {
    expect(() => proxyFor(new URL("https://a.test/"), { ALL_PROXY: value })).toThrow(says);
  });
}
