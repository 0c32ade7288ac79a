import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { redact } from "../redact.ts";
import { SHAPES, SPLIT_SHAPES } from "./shapes.ts";

/** Letters and digits that look random. Real-looking tokens are put together here and never stand in this file. */
function mixed(length: number): string {
  return "a1B2c3D4e5F6g7H8j9K0m1N2p3Q4r5S6t7U8v9W0x1Y2z3".repeat(8).slice(0, length);
}
function hex(length: number): string {
  return "3f9a1c7e5b2d8046".repeat(20).slice(0, length);
}
function upper(length: number): string {
  return "A2B3C4D5E6F7G2H3J4K5M6N7P2Q3".repeat(8).slice(0, length);
}
function digits(length: number): string {
  return "7294610385".repeat(4).slice(0, length);
}
function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

// oxfmt-ignore
const TOKENS: readonly (readonly [service: string, ...parts: string[]])[] = [
  ["SHA-512 crypt",             "$", "6$", mixed(8), "$", mixed(86)],
  ["SHA-256 crypt",             "$", "5$", "rounds=5000$", mixed(8), "$", mixed(43)],
  ["MD5 crypt",                 "$", "1$", mixed(8), "$", mixed(22)],
  ["MD5 crypt of Apache",       "$", "apr1$", mixed(8), "$", mixed(22)],
  ["bcrypt",                    "$", "2y$05$", mixed(53)],
  ["yescrypt",                  "$", "y$j9T$", mixed(22), "$", mixed(43)],
  ["gost-yescrypt",             "$", "gy$j9T$", mixed(22), "$", mixed(43)],
  ["scrypt",                    "$", "7$", mixed(14), "$", mixed(43)],
  ["Argon2",                    "$", "argon2id$v=19$m=65536,t=3,p=4$", mixed(22), "$", mixed(43)],
  ["PBKDF2",                    "$", "pbkdf2-sha256$29000$".replace("-", "/"), mixed(22), "$", mixed(43)],
  ["salted SHA of LDAP",        "{SS", "HA}", mixed(32)],
  ["salted SHA-512 of LDAP",    "{SS", "HA512}", mixed(96)],
  ["salted SHA-256 of LDAP",    "{SS", "HA256}", mixed(56)],
  ["SHA of Apache",             "{SH", "A}", mixed(27), "="],
  ["GitHub personal token",     "gh", "p_", mixed(36)],
  ["GitHub OAuth token",        "gh", "o_", mixed(36)],
  ["GitHub user token",         "gh", "u_", mixed(36)],
  ["GitHub server token",       "gh", "s_", mixed(36)],
  ["GitHub refresh token",      "gh", "r_", mixed(76)],
  ["GitHub fine-grained token", "github", "_pat_", mixed(22), "_", mixed(59)],
  ["GitLab personal token",     "gl", "pat-", mixed(20)],
  ["GitLab deploy token",       "gl", "dt-", mixed(20)],
  ["GitLab runner token",       "gl", "rt-", mixed(20)],
  ["GitLab job token",          "gl", "cbt-", "64_", mixed(20)],
  ["GitLab trigger token",      "gl", "ptt-", hex(40)],
  ["GitLab feed token",         "gl", "ft-", mixed(20)],
  ["GitLab OAuth secret",       "gl", "oas-", mixed(64)],
  ["GitLab agent token",        "gl", "agent-", mixed(50)],
  ["GitLab SCIM token",         "gl", "soat-", mixed(20)],
  ["GitLab feature flag token", "gl", "ffct-", mixed(20)],
  ["GitLab mail token",         "gl", "imt-", mixed(25)],
  ["GitLab registration token", "GR", "1348941", mixed(20)],
  ["Bitbucket app password",    "AT", "BB", mixed(32)],
  ["Atlassian token",           "AT", "ATT3", mixed(180), "=", upper(8)],
  ["Atlassian access token",    "AT", "CTT3", mixed(180)],
  ["npm token",                 "np", "m_", mixed(36)],
  ["PyPI token",                "py", "pi-AgEI", mixed(120)],
  ["RubyGems key",              "ruby", "gems_", hex(48)],
  ["NuGet key",                 "oy", "2", "a1b2c3d4e5".repeat(4), "f6g"],
  ["Clojars token",             "CLO", "JARS_", hex(60)],
  ["Artifactory key",           "AK", "Cp", mixed(69)],
  ["Artifactory token",         "cm", "Vmd", mixed(59)],
  ["SonarQube user token",      "sq", "u_", hex(40)],
  ["SonarQube project token",   "sq", "p_", hex(40)],
  ["SonarQube global token",    "sq", "a_", hex(40)],
  ["Docker token",              "dc", "kr_pat_", mixed(27)],
  ["Docker organisation token", "dc", "kr_oat_", mixed(32)],
  ["Sourcegraph token",         "sg", "p_", hex(16), "_", hex(40)],
  ["Google API key",            "AI", "za", mixed(35)],
  ["Google OAuth token",        "ya", "29.", mixed(60)],
  ["Google client secret",      "GOC", "SPX-", mixed(28)],
  ["Google refresh token",      "1/", "/0", mixed(60)],
  ["AWS key id, bearer",        "AB", "IA", upper(16)],
  ["AWS key id, context",       "AC", "CA", upper(16)],
  ["AWS Bedrock key",           "AB", "SK", mixed(120)],
  ["AWS Bedrock short key",     "bedrock-", "api-key-", mixed(60)],
  ["AWS marketplace token",     "amzn.", "mws.", hex(8), "-", hex(4), "-", hex(4), "-", hex(4), "-", hex(12)],
  ["Alibaba key id",            "LT", "AI", mixed(20)],
  ["Tencent key id",            "AK", "ID", mixed(32)],
  ["DigitalOcean token",        "do", "p_v1_", hex(64)],
  ["DigitalOcean OAuth token",  "do", "o_v1_", hex(64)],
  ["DigitalOcean refresh",      "do", "r_v1_", hex(64)],
  ["Cloudflare origin key",     "v1", ".0-", hex(24), "-", hex(146)],
  ["Cloudflare user token",     "cf", "ut_", mixed(48)],
  ["Cloudflare account token",  "cf", "at_", mixed(48)],
  ["Cloudflare global key",     "cf", "k_", mixed(48)],
  ["Databricks token",          "da", "pi", hex(32)],
  ["Vault service token",       "hv", "s.", mixed(90)],
  ["Vault batch token",         "hv", "b.", mixed(138)],
  ["Vault recovery token",      "hv", "r.", mixed(90)],
  ["age identity",              "AGE-SEC", "RET-KEY-1", upper(58)],
  ["age plugin identity",       "AGE-", "PLUGIN-", "YUBIKEY-1", upper(40)],
  ["OpenSSH private key body",  "b3BlbnNz", "aC1rZXktdjE", mixed(80)],
  ["OpenShift token",           "sha", "256~", mixed(43)],
  ["Octopus Deploy key",        "AP", "I-", upper(26)],
  ["Prefect key",               "pn", "u_", mixed(36)],
  ["Scalingo token",            "tk", "-us-", mixed(48)],
  ["Infracost key",             "ic", "o-", mixed(32)],
  ["Defined Networking key",    "dn", "key-", mixed(26), "-", mixed(52)],
  ["Yandex key",                "AQ", "VN", mixed(38)],
  ["Doppler token",             "dp", ".pt.", mixed(43)],
  ["Doppler token",             "dp", ".st.dev_app.", mixed(43)],
  ["Fly token",                 "fo", "1_", mixed(43)],
  ["Fly macaroon",              "fm", "1r_", mixed(120)],
  ["Fly macaroon v2",           "fm", "2_", mixed(120)],
  ["Heroku key",                "HR", "KU-AA", mixed(58)],
  ["Vercel token",              "vc", "p_", mixed(40)],
  ["Vercel integration token",  "vc", "i_", mixed(40)],
  ["Vercel app token",          "vc", "a_", mixed(40)],
  ["Vercel refresh token",      "vc", "r_", mixed(40)],
  ["Vercel AI key",             "vc", "k_", mixed(40)],
  ["Netlify token",             "nf", "p_", mixed(36)],
  ["Pulumi token",              "pu", "l-", hex(40)],
  ["PlanetScale password",      "ps", "cale_pw_", mixed(43)],
  ["PlanetScale token",         "ps", "cale_tkn_", mixed(43)],
  ["PlanetScale OAuth token",   "ps", "cale_oauth_", mixed(43)],
  ["Supabase token",            "sb", "p_", hex(40)],
  ["Supabase secret key",       "sb", "_secret_", mixed(31)],
  ["Tailscale key",             "ts", "key-auth-", mixed(12), "-", mixed(32)],
  ["Render key",                "rn", "d_", mixed(28)],
  ["Buildkite token",           "bk", "ua_", hex(40)],
  ["CircleCI token",            "CC", "IPAT_", mixed(22), "_", hex(40)],
  ["Dynatrace token",           "dt", "0c01.", upper(24), ".", upper(64)],
  ["Grafana service token",     "gl", "sa_", mixed(32), "_", hex(8)],
  ["Grafana cloud token",       "gl", "c_", mixed(80)],
  ["New Relic user key",        "NR", "AK-", upper(27)],
  ["New Relic insert key",      "NR", "II-", mixed(32)],
  ["Sentry organisation token", "sn", "trys_", mixed(120)],
  ["Sentry user token",         "sn", "tryu_", hex(64)],
  ["1Password service token",   "op", "s_eyJ", mixed(200)],
  ["1Password secret key",      "A3", "-", upper(6), "-", upper(6), "-", upper(5), "-", upper(5), "-", upper(5), "-", upper(5)],
  ["OpenAI or Anthropic key",   "sk", "-", mixed(48)],
  ["OpenAI or Anthropic key",   "sk", "-proj-", mixed(120)],
  ["OpenAI or Anthropic key",   "sk", "-ant-api03-", mixed(90), "AA"],
  ["OpenAI or Anthropic key",   "sk", "-or-v1-", hex(64)],
  ["Hugging Face token",        "hf", "_", mixed(34)],
  ["Hugging Face org token",    "api", "_org_", mixed(34)],
  ["Replicate token",           "r", "8_", mixed(37)],
  ["Groq key",                  "gs", "k_", mixed(52)],
  ["xAI key",                   "xa", "i-", mixed(80)],
  ["Perplexity key",            "pp", "lx-", mixed(48)],
  ["NVIDIA key",                "nv", "api-", mixed(64)],
  ["Tavily key",                "tv", "ly-dev-", mixed(32)],
  ["LangSmith key",             "ls", "v2_pt_", hex(32), "_", hex(10)],
  ["Pinecone key",              "pc", "sk_", mixed(6), "_", mixed(60)],
  ["Jina key",                  "ji", "na_", mixed(60)],
  ["Slack bot token",           "xo", "xb-", digits(12), "-", digits(13), "-", mixed(24)],
  ["Slack user token",          "xo", "xp-", digits(12), "-", digits(12), "-", hex(32)],
  ["Slack workspace token",     "xo", "xa-2-", mixed(40)],
  ["Slack refresh token",       "xo", "xr-", mixed(40)],
  ["Slack session token",       "xo", "xs-", digits(12), "-", hex(20)],
  ["Slack configuration token", "xo", "xe.xo", "xp-1-", mixed(160)],
  ["Slack client token",        "xo", "xc-", digits(12), "-", hex(40)],
  ["Slack cookie",              "xo", "xd-", mixed(60), "%2B", mixed(10)],
  ["Slack app token",           "xa", "pp-1-", upper(11), "-", digits(13), "-", hex(64)],
  ["SendGrid key",              "S", "G.", mixed(22), ".", mixed(43)],
  ["Mailgun key",               "ke", "y-", hex(32)],
  ["Brevo key",                 "xk", "eysib-", hex(64), "-", mixed(16)],
  ["MailerSend token",          "ml", "sn.", hex(64)],
  ["Resend key",                "r", "e_", mixed(8), "_", mixed(24)],
  ["Twilio key",                "S", "K", hex(32)],
  ["Twilio account",            "A", "C", hex(32)],
  ["Stripe live key",           "sk", "_live_", mixed(24)],
  ["Stripe test key",           "sk", "_test_", mixed(24)],
  ["Stripe restricted key",     "rk", "_live_", mixed(24)],
  ["Stripe restricted test key", "rk", "_test_", mixed(24)],
  ["Stripe production key",     "sk", "_prod_", mixed(24)],
  ["Stripe webhook secret",     "wh", "sec_", mixed(32)],
  ["ElevenLabs key",            "sk", "_", hex(48)],
  ["Shopify token",             "sh", "pat_", hex(32)],
  ["Shopify shared secret",     "sh", "pss_", hex(32)],
  ["Shopify custom token",      "sh", "pca_", hex(32)],
  ["Shopify private token",     "sh", "ppa_", hex(32)],
  ["Square token",              "sq", "0atp-", mixed(22)],
  ["Square secret",             "sq", "0csp-", mixed(43)],
  ["Square or Facebook token",  "EA", "A", mixed(60)],
  ["Braintree token",           "access_", "token$production$", hex(16), "_", hex(32)],
  ["EasyPost key",              "EZ", "AK", mixed(54)],
  ["EasyPost test key",         "EZ", "TK", mixed(54)],
  ["Shippo token",              "ship", "po_live_", hex(40)],
  ["Duffel token",              "duf", "fel_live_", mixed(43)],
  ["Adobe secret",              "p8", "e-", mixed(32)],
  ["Flutterwave key",           "FLW", "SECK_TEST-", hex(32), "-X"],
  ["Linear key",                "lin", "_api_", mixed(40)],
  ["Linear OAuth token",        "lin", "_oauth_", hex(64)],
  ["Notion secret",             "sec", "ret_", mixed(43)],
  ["Notion token",              "nt", "n_", digits(11), mixed(35)],
  ["ReadMe key",                "rd", "me_", mixed(70)],
  ["Typeform token",            "tf", "p_", mixed(59)],
  ["Frame.io token",            "fi", "o-u-", mixed(64)],
  ["Postman key",               "PM", "AK-", hex(24), "-", hex(34)],
  ["Figma token",               "fi", "gd_", mixed(40)],
  ["HubSpot token",             "pa", "t-na1-", hex(8), "-", hex(4), "-", hex(4), "-", hex(4), "-", hex(12)],
  ["Contentful token",          "CF", "PAT-", mixed(43)],
  ["Dropbox token",             "s", "l.", mixed(130)],
  ["Yandex token",              "y", "0_", mixed(56)],
  ["Telegram bot token",        digits(9), ":A", "A", mixed(33)],
  ["Discord token",             "MT", mixed(24), ".", mixed(6), ".", mixed(38)],
  ["Airtable token",            "pa", "t", mixed(14), ".", hex(64)],
  ["Azure client secret",       "a1B", "8Q~", mixed(34)],
  ["Terraform token",           mixed(14), ".atlas", "v1.", mixed(67)],
  ["Mailchimp key",             hex(32), "-u", "s12"],
  ["AWS key id",                "AK", "IA", upper(16)],
  ["AWS temporary key id",      "AS", "IA", upper(16)],
  ["JSON Web Token",            base64url({ alg: "HS256", typ: "JWT" }), ".", base64url({ sub: "1234567890" }), ".", mixed(43)],
  ["unsigned JSON Web Token",   base64url({ alg: "none" }), ".", base64url({ sub: "1234567890" }), "."],
  ["encrypted JSON Web Token",  base64url({ alg: "dir", enc: "A256GCM" }), ".", mixed(40), ".", mixed(16), ".", mixed(60), ".", mixed(22)],
  ["private key in base64",     base64(["-----BEGIN RSA PRIV", "ATE KEY-----\n", mixed(200)].join(""))],
];

/** Where tokens turn up. The text around them has to stay as it is. */
// oxfmt-ignore
const CONTEXTS: readonly (readonly [title: string, place: (token: string) => string])[] = [
  ["alone",                 (token) => token],
  ["in a sentence",         (token) => `I found ${token} in the log, what now?`],
  ["in double quotes",      (token) => `const value = "${token}";`],
  ["in single quotes",      (token) => `value = '${token}'`],
  ["in back quotes",        (token) => `Use \`${token}\` to sign in`],
  ["in JSON",               (token) => JSON.stringify({ a: 1, credential_value: [token], b: null })],
  ["in JSON in JSON",       (token) => JSON.stringify({ body: JSON.stringify({ data: token }) })],
  ["after an escaped line", (token) => JSON.stringify({ log: `first\n${token}\nlast` })],
  ["in a log line",         (token) => `2026-01-15T10:22:33.123Z [info] client: using ${token} (id 7)`],
  ["on a CRLF line",        (token) => `line one\r\n${token}\r\nline three\r\n`],
  ["after a tab",           (token) => `name\t${token}\tactive`],
  ["in a table",            (token) => `| prod | ${token} | 2026 |`],
  ["in a curl command",     (token) => `curl -s https://api.example.com/v1/items -d 'value=${token}' -o out.json`],
  ["in a query",            (token) => `GET /cb?value=${token}&state=1 HTTP/1.1`],
  ["in a stack trace",      (token) => `Error: refused (${token})\n    at send (/app/src/client.js:10:15)\n    at main (/app/src/main.js:3:1)`],
  ["in colour",             (token) => `\u001b[1;32m${token}\u001b[0m done`],
  ["in XML",                (token) => `<item id="3">${token}</item>`],
  ["in brackets",           (token) => `[${token}] {${token}} (${token})`],
  ["among other words",     (token) => `α ${token} ß — 漢字 ${token}\u00a0🙂`],
];

for (const [service, ...parts] of TOKENS) {
  test(`a ${service} is redacted wherever it stands, and nothing else is`, () => {
    const token = parts.join("");
    for (const [title, place] of CONTEXTS) {
      expect(redact(place(token)), title).toEqual({ text: place(REDACTION_MARKER), redacted: true });
    }
  });
}

// oxfmt-ignore
const ADDRESSES: readonly (readonly [service: string, address: string, path: string])[] = [
  ["Slack webhook",             "https://hooks.slack.com/services/",                `T${upper(10)}/B${upper(10)}/${mixed(24)}`],
  ["Slack workflow",            "https://hooks.slack.com/workflows/",               `T${upper(10)}/A${upper(10)}/${mixed(24)}`],
  ["Slack trigger",             "https://hooks.slack.com/triggers/",                `T${upper(10)}/${digits(12)}/${mixed(32)}`],
  ["Discord webhook",           "https://discord.com/api/webhooks/",                `${digits(18)}/${mixed(68)}`],
  ["Discord webhook, old name", "https://discordapp.com/api/webhooks/",             `${digits(18)}/${mixed(68)}`],
  ["Teams webhook",             "https://example.webhook.office.com/webhookb2/",    `${hex(8)}-${hex(4)}@${hex(8)}/IncomingWebhook/${hex(32)}`],
  ["Azure signature",           "https://store.example.net/c/f?sv=2026-01-01&sig=", `${mixed(40)}%3D`],
  ["signature in an address",   "https://store.example.net/c/f?sig=",               mixed(20)],
  ["AWS version 2 signature",   "https://b.example.net/o?Expires=1&Signature=",     `${mixed(26)}%3D`],
  ["AWS request signature",     "https://b.example.net/o?X-Amz-Date=20260101T000000Z&X-Amz-Signature=", hex(64)],
  ["Firebase messaging key",    "project/",                                         [mixed(11), ":AP", "A91b", mixed(130)].join("")],
];

for (const [service, address, path] of ADDRESSES) {
  test(`of a ${service} only the secret part is redacted`, () => {
    const { text } = redact(`see ${address}${path} now`);
    expect(text).not.toContain(path.slice(-20));
    expect(text).toMatch(/\*\*\*REDACTED\*\*\* now$/);
    expect(text.startsWith(`see ${address}`)).toBe(true);
  });
}

test("every shape in the tables has a token here", () => {
  const tried = new Set([...TOKENS, ...ADDRESSES].map(([service]) => service));
  const all = [...SHAPES, ...SPLIT_SHAPES].map(({ service }) => service);
  expect(all.filter((service) => !tried.has(service))).toEqual([]);
});

test("an AWS secret key right after its id is redacted with it", () => {
  const id = ["AK", "IA", upper(16)].join("");
  const secret = `${mixed(19)}/${mixed(20)}`;
  for (const between of [",", " ", ":", '", "secret": "', "\t", "\nsecret = "]) {
    expect(redact(`"${id}${between}${secret}"`).text).toBe(`"${REDACTION_MARKER}${between}${REDACTION_MARKER}"`);
  }
});
