import { SETS, setOf } from "../text/character-sets.ts";
import type { CharacterSet } from "../text/character-sets.ts";

/** A key or token recognized by its beginning: a fixed prefix, then a number of characters of one set. */
export interface Shape {
  readonly service: string;
  /** In its original case. */
  readonly prefix: string;
  readonly of: CharacterSet;
  /** Minimum number of characters after the prefix. Fewer than real ones have, if the prefix alone is distinctive. */
  readonly least: number;
  /** With more than this, it is something else. */
  readonly most?: number;
  /** The number of characters of a complete one, if fixed: then the next line does not belong to it. */
  readonly size?: number;
  /** The prefix also occurs in other words and data: no letter or digit may precede it; with "word", no "-" or "_". */
  readonly alone?: "letter" | "word";
  /** The prefix is public, as in a URL, and is kept. */
  readonly keepPrefix?: true;
  /** An additional condition on the first 96 characters after the prefix. */
  readonly check?: RegExp;
}

const { hex, alphanumeric, word, url64, dotted, path, base64 } = SETS;
const upperDigits = setOf("A-Z0-9");
const upper = setOf("A-Z0-9-");
const slack = setOf("A-Za-z0-9_.-");
const signature = setOf("A-Za-z0-9%+/=_-");
const macaroon = setOf("A-Za-z0-9+/=_,-");

/** A long run of letters and digits, or a shorter one that contains digits: not a name made of words. */
const SOLID = /[A-Za-z0-9]{20}|(?=[A-Za-z0-9]{10})\D*\d/;
const LONG_RUN = /[A-Za-z0-9]{16}/;
const HAS_DIGIT = /\d/;
const crypt = setOf("A-Za-z0-9./$=,+");
/** Salt, with or without rounds, and hash. */
const CRYPT = /^(?:rounds=\d+\$)?[A-Za-z0-9./]{0,16}\$[A-Za-z0-9./]{16}/;

// oxfmt-ignore
export const SHAPES: readonly Shape[] = [
  // Code hosting and packages
  { service: "GitHub personal token",     prefix: "ghp_",         of: dotted,       least: 20, size: 36, alone: "letter", check: LONG_RUN },
  { service: "GitHub OAuth token",        prefix: "gho_",         of: dotted,       least: 20, size: 36, alone: "letter", check: LONG_RUN },
  { service: "GitHub user token",         prefix: "ghu_",         of: dotted,       least: 20, size: 36, alone: "letter", check: LONG_RUN },
  { service: "GitHub server token",       prefix: "ghs_",         of: dotted,       least: 20, size: 36, alone: "letter", check: LONG_RUN },
  { service: "GitHub refresh token",      prefix: "ghr_",         of: dotted,       least: 20, size: 36, alone: "letter", check: LONG_RUN },
  { service: "GitHub fine-grained token", prefix: "github_pat_",  of: word,         least: 20 },
  { service: "GitLab personal token",     prefix: "glpat-",       of: dotted,       least: 16 },
  { service: "GitLab deploy token",       prefix: "gldt-",        of: dotted,       least: 16 },
  { service: "GitLab runner token",       prefix: "glrt-",        of: dotted,       least: 16 },
  { service: "GitLab job token",          prefix: "glcbt-",       of: dotted,       least: 16 },
  { service: "GitLab trigger token",      prefix: "glptt-",       of: dotted,       least: 16 },
  { service: "GitLab feed token",         prefix: "glft-",        of: dotted,       least: 16 },
  { service: "GitLab OAuth secret",       prefix: "gloas-",       of: dotted,       least: 16 },
  { service: "GitLab agent token",        prefix: "glagent-",     of: dotted,       least: 16 },
  { service: "GitLab SCIM token",         prefix: "glsoat-",      of: dotted,       least: 16 },
  { service: "GitLab feature flag token", prefix: "glffct-",      of: dotted,       least: 16 },
  { service: "GitLab mail token",         prefix: "glimt-",       of: dotted,       least: 16 },
  { service: "GitLab registration token", prefix: "GR1348941",    of: url64,        least: 16, alone: "word" },
  { service: "Bitbucket app password",    prefix: "ATBB",         of: alphanumeric, least: 24, alone: "word" },
  { service: "Atlassian token",           prefix: "ATATT",        of: base64,       least: 30, alone: "word" },
  { service: "Atlassian access token",    prefix: "ATCTT",        of: base64,       least: 30, alone: "word" },
  { service: "npm token",                 prefix: "npm_",         of: alphanumeric, least: 30, size: 36 },
  { service: "PyPI token",                prefix: "pypi-",        of: url64,        least: 40, check: LONG_RUN },
  { service: "RubyGems key",              prefix: "rubygems_",    of: alphanumeric, least: 32 },
  { service: "NuGet key",                 prefix: "oy2",          of: alphanumeric, least: 43, most: 43, alone: "word" },
  { service: "Clojars token",             prefix: "CLOJARS_",     of: alphanumeric, least: 40 },
  { service: "Artifactory key",           prefix: "AKCp",         of: alphanumeric, least: 60, alone: "word" },
  { service: "Artifactory token",         prefix: "cmVmd",        of: alphanumeric, least: 59, most: 59, alone: "word" },
  { service: "SonarQube user token",      prefix: "squ_",         of: alphanumeric, least: 36, alone: "word" },
  { service: "SonarQube project token",   prefix: "sqp_",         of: alphanumeric, least: 36, alone: "word" },
  { service: "SonarQube global token",    prefix: "sqa_",         of: alphanumeric, least: 36, alone: "word" },
  { service: "Docker token",              prefix: "dckr_pat_",    of: url64,        least: 20 },
  { service: "Docker organisation token", prefix: "dckr_oat_",    of: url64,        least: 20 },
  { service: "Sourcegraph token",         prefix: "sgp_",         of: word,         least: 36, check: LONG_RUN },
  // Clouds and infrastructure
  { service: "Google API key",            prefix: "AIza",         of: url64,        least: 32, size: 35, alone: "word" },
  { service: "Google OAuth token",        prefix: "ya29.",        of: dotted,       least: 20 },
  { service: "Google client secret",      prefix: "GOCSPX-",      of: url64,        least: 20 },
  { service: "Google refresh token",      prefix: "1//0",         of: url64,        least: 30, alone: "word" },
  { service: "Firebase messaging key",    prefix: ":APA91b",      of: url64,        least: 60 },
  { service: "Azure signature",           prefix: "sig=",         of: signature,    least: 40, alone: "word", keepPrefix: true },
  { service: "signature in an address",   prefix: "?sig=",        of: signature,    least: 10, keepPrefix: true, check: SOLID },
  { service: "signature in an address",   prefix: "&sig=",        of: signature,    least: 10, keepPrefix: true, check: SOLID },
  { service: "signature in an address",   prefix: "&amp;sig=",    of: signature,    least: 10, keepPrefix: true, check: SOLID },
  { service: "AWS version 2 signature",   prefix: "&Signature=",  of: signature,    least: 20, keepPrefix: true, check: SOLID },
  { service: "AWS request signature",     prefix: "Signature=",   of: hex,          least: 40, keepPrefix: true },
  { service: "AWS key id, bearer",        prefix: "ABIA",         of: upperDigits,  least: 16, most: 16, alone: "word" },
  { service: "AWS key id, context",       prefix: "ACCA",         of: upperDigits,  least: 16, most: 16, alone: "word" },
  { service: "AWS Bedrock key",           prefix: "ABSK",         of: base64,       least: 80, alone: "word" },
  { service: "AWS Bedrock short key",     prefix: "bedrock-api-key-", of: base64,   least: 30 },
  { service: "AWS marketplace token",     prefix: "amzn.mws.",    of: url64,        least: 30 },
  { service: "Alibaba key id",            prefix: "LTAI",         of: alphanumeric, least: 12, most: 24, alone: "word", check: HAS_DIGIT },
  { service: "Tencent key id",            prefix: "AKID",         of: alphanumeric, least: 28, most: 40, alone: "word" },
  { service: "DigitalOcean token",        prefix: "dop_v1_",      of: alphanumeric, least: 32 },
  { service: "DigitalOcean OAuth token",  prefix: "doo_v1_",      of: alphanumeric, least: 32 },
  { service: "DigitalOcean refresh",      prefix: "dor_v1_",      of: alphanumeric, least: 32 },
  { service: "Cloudflare origin key",     prefix: "v1.0-",        of: url64,        least: 60, alone: "word", check: /^[0-9a-f]{24}-/ },
  { service: "Cloudflare user token",     prefix: "cfut_",        of: alphanumeric, least: 36, alone: "word" },
  { service: "Cloudflare account token",  prefix: "cfat_",        of: alphanumeric, least: 36, alone: "word" },
  { service: "Cloudflare global key",     prefix: "cfk_",         of: alphanumeric, least: 36, alone: "word" },
  { service: "Databricks token",          prefix: "dapi",         of: url64,        least: 32, alone: "word", check: /^[0-9a-fA-F]{32}/ },
  { service: "Vault service token",       prefix: "hvs.",         of: url64,        least: 20, alone: "word", check: LONG_RUN },
  { service: "Vault batch token",         prefix: "hvb.",         of: url64,        least: 20, alone: "word", check: LONG_RUN },
  { service: "Vault recovery token",      prefix: "hvr.",         of: url64,        least: 20, alone: "word", check: LONG_RUN },
  { service: "age identity",              prefix: "AGE-SECRET-KEY-", of: alphanumeric, least: 40 },
  { service: "age plugin identity",       prefix: "AGE-PLUGIN-",  of: upper,        least: 20 },
  { service: "OpenSSH private key body",  prefix: "b3BlbnNzaC1rZXktdjE", of: base64, least: 20 },
  { service: "OpenShift token",           prefix: "sha256~",      of: url64,        least: 40, alone: "word" },
  { service: "Octopus Deploy key",        prefix: "API-",         of: alphanumeric, least: 25, most: 28, alone: "word", check: /^[A-Z0-9]+$/ },
  { service: "Prefect key",               prefix: "pnu_",         of: alphanumeric, least: 30, alone: "word" },
  { service: "Scalingo token",            prefix: "tk-us-",       of: url64,        least: 40, alone: "word" },
  { service: "Infracost key",             prefix: "ico-",         of: alphanumeric, least: 32, alone: "word" },
  { service: "Defined Networking key",    prefix: "dnkey-",       of: url64,        least: 40, alone: "word" },
  { service: "Yandex key",                prefix: "AQVN",         of: url64,        least: 30, alone: "word" },
  { service: "Doppler token",             prefix: "dp.",          of: dotted,       least: 30, alone: "word", check: /^(?:pt|st|ct|sa|scim|audit)\.[\w.-]*[A-Za-z0-9]{24}/ },
  { service: "Fly token",                 prefix: "fo1_",         of: url64,        least: 30, alone: "word" },
  { service: "Fly macaroon",              prefix: "fm1",          of: macaroon,     least: 40, alone: "word", check: /^[ar]_/ },
  { service: "Fly macaroon v2",           prefix: "fm2_",         of: macaroon,     least: 40, alone: "word" },
  { service: "Heroku key",                prefix: "HRKU-",        of: url64,        least: 30 },
  { service: "Vercel token",              prefix: "vcp_",         of: alphanumeric, least: 24, alone: "word", check: SOLID },
  { service: "Vercel integration token",  prefix: "vci_",         of: alphanumeric, least: 24, alone: "word", check: SOLID },
  { service: "Vercel app token",          prefix: "vca_",         of: alphanumeric, least: 24, alone: "word", check: SOLID },
  { service: "Vercel refresh token",      prefix: "vcr_",         of: alphanumeric, least: 24, alone: "word", check: SOLID },
  { service: "Vercel AI key",             prefix: "vck_",         of: alphanumeric, least: 24, alone: "word", check: SOLID },
  { service: "Netlify token",             prefix: "nfp_",         of: alphanumeric, least: 30 },
  { service: "Pulumi token",              prefix: "pul-",         of: alphanumeric, least: 40, alone: "word" },
  { service: "PlanetScale password",      prefix: "pscale_pw_",   of: dotted,       least: 30 },
  { service: "PlanetScale token",         prefix: "pscale_tkn_",  of: dotted,       least: 30 },
  { service: "PlanetScale OAuth token",   prefix: "pscale_oauth_", of: dotted,      least: 30 },
  { service: "Supabase token",            prefix: "sbp_",         of: word,         least: 32, check: LONG_RUN },
  { service: "Supabase secret key",       prefix: "sb_secret_",   of: url64,        least: 20 },
  { service: "Tailscale key",             prefix: "tskey-",       of: url64,        least: 20, check: /[A-Za-z0-9]{10}/ },
  { service: "Render key",                prefix: "rnd_",         of: alphanumeric, least: 24, alone: "word", check: HAS_DIGIT },
  { service: "Buildkite token",           prefix: "bkua_",        of: alphanumeric, least: 30 },
  { service: "CircleCI token",            prefix: "CCIPAT_",      of: word,         least: 30 },
  { service: "Dynatrace token",           prefix: "dt0c01.",      of: dotted,       least: 60 },
  { service: "Grafana service token",     prefix: "glsa_",        of: word,         least: 24 },
  { service: "Grafana cloud token",       prefix: "glc_",         of: base64,       least: 32, alone: "word", check: LONG_RUN },
  { service: "New Relic user key",        prefix: "NRAK-",        of: alphanumeric, least: 20 },
  { service: "New Relic insert key",      prefix: "NRII-",        of: url64,        least: 20 },
  { service: "Sentry organisation token", prefix: "sntrys_",      of: base64,       least: 30 },
  { service: "Sentry user token",         prefix: "sntryu_",      of: alphanumeric, least: 32 },
  { service: "1Password service token",   prefix: "ops_eyJ",      of: base64,       least: 40 },
  { service: "1Password secret key",      prefix: "A3-",          of: upper,        least: 30, alone: "word", check: /^[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3}/ },
  // Password hashes, as in /etc/shadow and .htpasswd: they can be attacked offline
  { service: "SHA-512 crypt",             prefix: "$6$",          of: crypt,        least: 60, check: CRYPT },
  { service: "SHA-256 crypt",             prefix: "$5$",          of: crypt,        least: 40, check: CRYPT },
  { service: "MD5 crypt",                 prefix: "$1$",          of: crypt,        least: 22, check: CRYPT },
  { service: "MD5 crypt of Apache",       prefix: "$apr1$",       of: crypt,        least: 20, check: CRYPT },
  { service: "bcrypt",                    prefix: "$2",           of: crypt,        least: 50, check: /^[abxy]?\$\d\d\$/ },
  { service: "yescrypt",                  prefix: "$y$",          of: crypt,        least: 30, check: /\$/ },
  { service: "gost-yescrypt",             prefix: "$gy$",         of: crypt,        least: 30, check: /\$/ },
  { service: "scrypt",                    prefix: "$7$",          of: crypt,        least: 40, check: /\$/ },
  { service: "Argon2",                    prefix: "$argon2",      of: crypt,        least: 40, check: /\$m=/ },
  { service: "PBKDF2",                    prefix: "$pbkdf2",      of: crypt,        least: 40, check: /\$/ },
  { service: "salted SHA of LDAP",        prefix: "{SSHA}",       of: base64,       least: 20 },
  { service: "salted SHA-512 of LDAP",    prefix: "{SSHA512}",    of: base64,       least: 20 },
  { service: "salted SHA-256 of LDAP",    prefix: "{SSHA256}",    of: base64,       least: 20 },
  { service: "SHA of Apache",             prefix: "{SHA}",        of: base64,       least: 20 },
  // Models
  { service: "OpenAI or Anthropic key",   prefix: "sk-",          of: url64,        least: 20, alone: "word", check: SOLID },
  { service: "Hugging Face token",        prefix: "hf_",          of: alphanumeric, least: 30, size: 34, alone: "word" },
  { service: "Hugging Face org token",    prefix: "api_org_",     of: alphanumeric, least: 30 },
  { service: "Replicate token",           prefix: "r8_",          of: alphanumeric, least: 32, alone: "word" },
  { service: "Groq key",                  prefix: "gsk_",         of: alphanumeric, least: 40, alone: "word" },
  { service: "xAI key",                   prefix: "xai-",         of: alphanumeric, least: 40, alone: "word" },
  { service: "Perplexity key",            prefix: "pplx-",        of: alphanumeric, least: 32, alone: "word" },
  { service: "NVIDIA key",                prefix: "nvapi-",       of: url64,        least: 40 },
  { service: "Tavily key",                prefix: "tvly-",        of: url64,        least: 20, check: SOLID },
  { service: "LangSmith key",             prefix: "lsv2_",        of: word,         least: 30, alone: "word" },
  { service: "Pinecone key",              prefix: "pcsk_",        of: word,         least: 40 },
  { service: "Jina key",                  prefix: "jina_",        of: url64,        least: 40, check: LONG_RUN },
  // Messaging and mail
  { service: "Slack bot token",           prefix: "xoxb-",        of: slack,        least: 10 },
  { service: "Slack user token",          prefix: "xoxp-",        of: slack,        least: 10 },
  { service: "Slack workspace token",     prefix: "xoxa-",        of: slack,        least: 10 },
  { service: "Slack refresh token",       prefix: "xoxr-",        of: slack,        least: 10 },
  { service: "Slack session token",       prefix: "xoxs-",        of: slack,        least: 10 },
  { service: "Slack configuration token", prefix: "xoxe",         of: slack,        least: 16, alone: "word", check: /^[.-]/ },
  { service: "Slack client token",        prefix: "xoxc-",        of: slack,        least: 10 },
  { service: "Slack cookie",              prefix: "xoxd-",        of: signature,    least: 10 },
  { service: "Slack app token",           prefix: "xapp-",        of: url64,        least: 16, check: HAS_DIGIT },
  { service: "Slack webhook",             prefix: "hooks.slack.com/services/", of: path, least: 20, keepPrefix: true },
  { service: "Slack workflow",            prefix: "hooks.slack.com/workflows/", of: path, least: 20, keepPrefix: true },
  { service: "Slack trigger",             prefix: "hooks.slack.com/triggers/", of: path, least: 20, keepPrefix: true },
  { service: "Discord webhook",           prefix: "discord.com/api/webhooks/", of: path, least: 20, keepPrefix: true },
  { service: "Discord webhook, old name", prefix: "discordapp.com/api/webhooks/", of: path, least: 20, keepPrefix: true },
  { service: "Teams webhook",             prefix: ".webhook.office.com/webhookb2/", of: setOf("A-Za-z0-9_@./-"), least: 30, keepPrefix: true },
  { service: "SendGrid key",              prefix: "SG.",          of: dotted,       least: 36, alone: "word", check: /^[\w-]{16,}\.[\w-]{16,}/ },
  { service: "Mailgun key",               prefix: "key-",         of: alphanumeric, least: 32, most: 32, alone: "word" },
  { service: "Brevo key",                 prefix: "xkeysib-",     of: url64,        least: 40 },
  { service: "MailerSend token",          prefix: "mlsn.",        of: alphanumeric, least: 40 },
  { service: "Resend key",                prefix: "re_",          of: word,         least: 24, alone: "word", check: /^[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}/ },
  { service: "Twilio key",                prefix: "SK",           of: hex,          least: 32, most: 32, alone: "word" },
  { service: "Twilio account",            prefix: "AC",           of: hex,          least: 32, most: 32, alone: "word" },
  // Payments and shops
  { service: "Stripe live key",           prefix: "sk_live_",     of: word,         least: 12 },
  { service: "Stripe test key",           prefix: "sk_test_",     of: word,         least: 12, check: SOLID },
  { service: "Stripe restricted key",     prefix: "rk_live_",     of: word,         least: 12 },
  { service: "Stripe restricted test key", prefix: "rk_test_",    of: word,         least: 12, check: SOLID },
  { service: "Stripe production key",     prefix: "sk_prod_",     of: word,         least: 12 },
  { service: "Stripe webhook secret",     prefix: "whsec_",       of: base64,       least: 16 },
  { service: "ElevenLabs key",            prefix: "sk_",          of: alphanumeric, least: 40, alone: "word" },
  { service: "Shopify token",             prefix: "shpat_",       of: alphanumeric, least: 24 },
  { service: "Shopify shared secret",     prefix: "shpss_",       of: alphanumeric, least: 24 },
  { service: "Shopify custom token",      prefix: "shpca_",       of: alphanumeric, least: 24 },
  { service: "Shopify private token",     prefix: "shppa_",       of: alphanumeric, least: 24 },
  { service: "Square token",              prefix: "sq0atp-",      of: url64,        least: 20 },
  { service: "Square secret",             prefix: "sq0csp-",      of: url64,        least: 20 },
  { service: "Square or Facebook token",  prefix: "EAA",          of: url64,        least: 40, alone: "word", check: /^(?!.{0,20}A{6})(?=.*\d)/ },
  { service: "Braintree token",           prefix: "access_token$production$", of: word, least: 20 },
  { service: "EasyPost key",              prefix: "EZAK",         of: alphanumeric, least: 40, alone: "word" },
  { service: "EasyPost test key",         prefix: "EZTK",         of: alphanumeric, least: 40, alone: "word" },
  { service: "Shippo token",              prefix: "shippo_",      of: word,         least: 32, check: LONG_RUN },
  { service: "Duffel token",              prefix: "duffel_",      of: base64,       least: 40, check: LONG_RUN },
  { service: "Adobe secret",              prefix: "p8e-",         of: alphanumeric, least: 32, alone: "word" },
  { service: "Flutterwave key",           prefix: "FLWSECK",      of: url64,        least: 12, check: HAS_DIGIT },
  // Work tools
  { service: "Linear key",                prefix: "lin_api_",     of: alphanumeric, least: 30 },
  { service: "Linear OAuth token",        prefix: "lin_oauth_",   of: alphanumeric, least: 30 },
  { service: "Notion secret",             prefix: "secret_",      of: alphanumeric, least: 40, alone: "word" },
  { service: "Notion token",              prefix: "ntn_",         of: alphanumeric, least: 36, alone: "word" },
  { service: "ReadMe key",                prefix: "rdme_",        of: alphanumeric, least: 60 },
  { service: "Typeform token",            prefix: "tfp_",         of: setOf("A-Za-z0-9_.=-"), least: 40 },
  { service: "Frame.io token",            prefix: "fio-u-",       of: base64,       least: 50 },
  { service: "Postman key",               prefix: "PMAK-",        of: url64,        least: 30 },
  { service: "Figma token",               prefix: "figd_",        of: url64,        least: 30 },
  { service: "HubSpot token",             prefix: "pat-",         of: url64,        least: 30, alone: "word", check: /^(?:na|eu)\d-/ },
  { service: "Contentful token",          prefix: "CFPAT-",       of: url64,        least: 36 },
  { service: "Dropbox token",             prefix: "sl.",          of: url64,        least: 60, alone: "word", check: LONG_RUN },
  { service: "Yandex token",              prefix: "y0_",          of: url64,        least: 40, alone: "word", check: LONG_RUN },
];

/** A token without a fixed prefix: recognized by a sign in its middle and the characters on both sides of it. */
export interface SplitShape {
  readonly service: string;
  readonly sign: string;
  /** Other letters and digits may directly precede it: `bot123456:A…` */
  readonly joins?: true;
  /** The part before the sign, up to the sign. */
  readonly before: RegExp;
  /** The part after the sign: its first `window` characters, all of them of the set `of`. */
  readonly after: RegExp;
  readonly window: number;
  readonly of: CharacterSet;
  /** Requires a character at a fixed distance from the sign, if the sign alone is too common. */
  readonly hint?: { readonly offset: number; readonly is: string };
}

// oxfmt-ignore
export const SPLIT_SHAPES: readonly SplitShape[] = [
  { service: "Telegram bot token",  sign: ":A",          before: /(?<!\d)\d{6,12}$/,            after: /^[\w-]{30,}/,               window: 40, of: url64, joins: true },
  { service: "Discord token",       sign: ".",           before: /[MNO][\w-]{22,29}$/,          after: /^[\w-]{6}\.[\w-]{25,}/,     window: 40, of: dotted, hint: { offset: 7, is: "." } },
  { service: "Airtable token",      sign: ".",           before: /pat[A-Za-z0-9]{14}$/,         after: /^[0-9a-f]{60}/,             window: 60, of: alphanumeric, hint: { offset: -17, is: "p" } },
  { service: "Azure client secret", sign: "Q~",          before: /[\w~.-]{3}\d$/,               after: /^[\w~.-]{30,}/,             window: 40, of: setOf("A-Za-z0-9_~.-") },
  { service: "Terraform token",     sign: ".atlasv1.",   before: /[A-Za-z0-9]{14}$/,            after: /^[\w=-]{40,}/,              window: 48, of: setOf("A-Za-z0-9_=-") },
  { service: "Mailchimp key",       sign: "-us",         before: /[0-9a-f]{32}$/,               after: /^\d{1,2}(?![\w-])/,         window: 4,  of: setOf("0-9") },
];
