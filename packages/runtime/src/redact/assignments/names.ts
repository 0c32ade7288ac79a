/** The kind of secret that a name denotes. */
export type Noun = "password" | "secret" | "token" | "key" | "credential" | "auth" | "authorization";

/** A name's claim about its value. */
export interface Claim {
  readonly noun: Noun;
  /**
   * any: every value is a secret, unless it is a placeholder, a reference or code.
   * assigned: the same if set as in an environment, `NAME=value`; elsewhere only values that are not words.
   * random: only values that look random.
   */
  readonly strength: "any" | "assigned" | "random";
  /** In capitals, like environment variables. */
  readonly isUpper: boolean;
  /** A number under this name is a count, never a secret. */
  readonly isPlural: boolean;
}

// oxfmt-ignore
const NOUNS = new Map<string, Noun>([
  ["password", "password"], ["passwords", "password"], ["passwd", "password"], ["passphrase", "password"],
  ["passcode", "password"], ["passwort", "password"], ["pwd", "password"], ["pw", "password"], ["pass", "password"],
  ["secret", "secret"], ["secrets", "secret"],
  ["token", "token"], ["tokens", "token"], ["pat", "token"],
  ["key", "key"], ["keys", "key"],
  ["credential", "credential"], ["credentials", "credential"], ["creds", "credential"], ["cred", "credential"],
  ["auth", "auth"], ["authorization", "authorization"],
  ["密码", "password"], ["口令", "password"], ["密钥", "secret"], ["令牌", "token"],
]);

/** Compound names. The first group is the noun. */
const RUN_TOGETHER: readonly (readonly [RegExp, Noun])[] = [
  [/^[a-z]*(?:password|passwd|passphrase)s?$/, "password"],
  [
    /^(?:admin|db|database|enc|ftp|http|key|login|mail|my|mysql|pg|proxy|redis|require|root|smtp|ssh|store|sudo|trust|user|wifi)(?:pass|pwd|pw)$/,
    "password",
  ],
  [/^[a-z]+secrets?$/, "secret"],
  [/^[a-z]+token$/, "token"],
  [
    /^(?:access|account|api|auth|deploy|encryption|license|master|private|secret|shared|signing|ssh|subscription)keys?$/,
    "key",
  ],
];

/** Kinds of key that are secret. A service's name among them stands for its API key. */
const SECRET_KEYS = words(`
  access account admin aes algolia anthropic api app application auth aws azure bot cipher claude client cloudflare
  cohere connection consumer crypto datadog decrypt decryption deepseek deploy encrypt encryption firebase gemini
  github gitlab google gpg groq hmac huggingface jwt kms license mailgun maps master mistral newrelic openai
  openrouter pgp pinecone priv private rapidapi replicate root rsa sas secret secrets security sendgrid sentry serper
  server service session shared sign signature signing ssh ssl stripe subscription supabase tavily tls twilio webhook
  wep wpa`);

/** Kinds of key that name things and grant no access. */
const PLAIN_KEYS = words(`
  any arrow cache composite dedup dedupe foreign hash hot i18n idempotency index lookup object partition primary pub
  public publishable range row shift shortcut site socket sort translation unique`);

/** Like `PLAIN_KEYS` as a rule. In capitals, as an environment variable, or with a random value, they may be secret. */
const CODE_KEYS = words(`
  alternate answer attr attribute base block bucket candidate category child class cluster col collection column
  company config context cookie ctrl current custom customer data date default dict dispatch duplicate edge element
  entity entry enum env error event every existing feature field file filter first flag form function get global group
  header host id image input instance is issue item job join json label lang language last layer local locale location
  lock log lru map menu message meta metadata metric missing modifier name natural next no node old option order org
  other page param parameter parent path physical policy press prev previous product project prop property query queue
  record redis reducer ref region registry rel relation request resource result return role route routing s3 scan
  schema search section segment selected set setting settings shard short slot some source span state static step
  storage store stream style tab table tag task team template tenant test theme this topic tree type unknown url user
  valid value variable vary virtual widget with workspace`);

/** Tokens that are counted. */
const COUNTED_TOKENS = words(`
  cached completion context estimated generated input max maximum min n num output per prompt reasoning remaining
  reserved thinking total used`);

/** Tokens of a text, cursors and colors, in source code. */
const CODE_TOKENS = words(`
  bos cancel cancellation class cls color comment continuation css current cursor delim delimiter design end eof eos
  expected first generation identifier image invalid keyword last lex lexer literal lookahead mask new next number
  operator pad page pagination parser peek prev previous punctuation sentinel sep separator shift significant special
  start stop string sub syntax template text theme training unexpected unk unknown url variable whitespace xml`);

const CODE_SECRETS = words("existing pull image tls");

/** After one of these words a name denotes a property of the secret: TOKEN_URL, password_length. */
const PLAIN_ENDINGS = words(`
  age alg algo algorithm arg args arn attempts bits budget bytes callback cert count counter created css csv date days
  dir directory disabled doc docs duration enabled encoding endpoint env error errors exists exp expiration expired
  expires expiry field fields file filename files fingerprint flag folder format function go hash hashes header
  headers hint host hours html id identifier ids index info interval issuer iterations js json kind label labels len
  length level lifetime limit limits list location log max maxlength md message meta metadata method min minlength
  minutes mode name names namespace num number offset option optional options page param parameter parameters params
  path paths pattern per period permissions placeholder policy port prefix price prompt property provider py quota
  rate ref reference refs regex regexp region required requirements reset rotation rs rule rules schema scheme scope
  scopes seconds separator sh size source status stdin step steps strategy strength suffix supported symbol table tag
  template time timeout timestamp title ts ttl txt type types uri uris url urls usage used username uuid valid
  validation version versions visibility visible volume width window xml yaml yml`);

/** Words after the noun that do not change its meaning: API_KEY_PROD, password2. */
const NEUTRAL_ENDINGS = words(`
  admin alt app b64 backup base base64 bot ci current db default dev development encoded encrypted live local main
  master new old plain plaintext prev previous primary prod production qa raw root sandbox secondary stage staging str
  string uat v val value`);

/** First words of functions and switches: getToken, showPassword. */
const VERBS = words(`
  add allow ask build can change check clear compare confirm copy create decode delete disable do edit enable encode
  enter extract fetch find forgot format generate get handle has hash hide invalid invalidate is load lookup make
  match missing must need needs no on open parse print prompt read refresh remove render request require reset resolve
  retrieve revoke rotate save send set should show skip store test toggle update use validate verify with wrong`);

/** The same few names occur repeatedly. */
const seen = new Map<string, Claim | undefined>();
const MAX_SEEN = 1000;

/** Whether a name is that of a secret, and how certain that is. */
export function claimOf(name: string): Claim | undefined {
  if (seen.has(name)) return seen.get(name);
  const claim = judgeName(name);
  if (seen.size >= MAX_SEEN) seen.clear();
  seen.set(name, claim);
  return claim;
}

function judgeName(name: string): Claim | undefined {
  const parts = splitName(name);
  let at = parts.length - 1;
  while (at >= 0 && nounOf(parts[at] ?? "") === undefined) at--;
  const noun = nounOf(parts[at] ?? "");
  if (noun === undefined) return undefined;
  const own = parts[at] ?? "";
  const kind = parts.slice(0, at).findLast((each) => !/^\d+$/.test(each)) ?? "";
  const endings = parts.slice(at + 1);
  const isUpper = name === name.toUpperCase() && name !== name.toLowerCase();
  if (endings.some((each) => PLAIN_ENDINGS.has(each)) || isPlain(noun, kind, isUpper)) return undefined;
  if (own === "pat" && (kind === "" || !isUpper)) return undefined;
  const isSureKey = noun !== "key" || !NOUNS.has(own) || SECRET_KEYS.has(kind);
  // `key` and `item.key` can name anything.
  if (!isSureKey && (kind === "" || /\.keys?$/i.test(name))) return undefined;

  const isPlural = own === "tokens" || own === "keys";
  const claim = { noun, isUpper, isPlural };
  if (noun === "auth" || own === "pat" || (own === "tokens" && !isUpper)) return { ...claim, strength: "random" };
  const isCamel = /[a-z][A-Z]/.test(name);
  if (isCamel && VERBS.has(parts[0] ?? "")) return { ...claim, strength: "random" };
  if (noun === "key" && CODE_KEYS.has(kind)) return { ...claim, strength: isUpper ? "assigned" : "random" };
  if (!isSureKey && (isPlural || isCamel)) return { ...claim, strength: "random" };
  const isNeutral = endings.every((each) => NEUTRAL_ENDINGS.has(each) || /^\d+$/.test(each));
  if (isNeutral) return { ...claim, strength: isSureKey || isUpper ? "any" : "assigned" };
  // `password_for_x` is usually set; `passwordForX` is mostly code.
  return { ...claim, strength: isCamel ? "random" : "assigned" };
}

/** camelCase, snake_case, kebab-case and dotted names to lower-case words. */
export function splitName(name: string): readonly string[] {
  const parts = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\x00-\x7f]+/g) ?? [];
  return parts.map((each) => each.toLowerCase());
}

/** Whether a lower-case word itself names secrets: "password", not "mypassword". */
export function isNoun(word: string): boolean {
  return NOUNS.has(word);
}

export function hasNoun(text: string): boolean {
  return splitName(text).some(isNoun);
}

/** `accessToken`, `UserName2`: words of three letters or more, joined by capitals. */
export const CAMEL = /^_*[A-Za-z][a-z]{2,}(?:[A-Z][a-z]{2,})+\d{0,2}$/;

/** `ACCESS_TOKEN` */
export const CONSTANT = /^[A-Z]+(?:_[A-Z]+)*$/;

function nounOf(word: string): Noun | undefined {
  return NOUNS.get(word) ?? RUN_TOGETHER.find(([pattern]) => pattern.test(word))?.[1];
}

function isPlain(noun: Noun, kind: string, isUpper: boolean): boolean {
  if (noun === "key") return PLAIN_KEYS.has(kind);
  if (noun === "token") return COUNTED_TOKENS.has(kind) || (!isUpper && CODE_TOKENS.has(kind));
  return noun === "secret" && !isUpper && CODE_SECRETS.has(kind);
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}
