/** What the name of a secret contains, wherever it stands: `GITHUB_TOKEN_2`, `dbPassword`. */
const ANYWHERE = /TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY/i;
/** Words that name a secret only at the end: `SIGNING_KEY`, not `KEYBOARD`. `PWD` alone is a folder. */
const AT_END = /(?:^|_)(?:KEYS?|PAT|AUTH)$|_PWD$/i;

/**
 * Whether an environment variable is named like a secret. Stricter than the redactor's rules for names in text, since
 * in an environment every `*_KEY` is a secret.
 */
export function isSecretVariable(name: string): boolean {
  return ANYWHERE.test(name) || AT_END.test(name);
}

/** The path of a secret file is not a secret; otherwise every mention of the path would be redacted. */
const PATH = /^(?:\/|~\/|\.{1,2}\/)[\w.@+-]+(?:\/[\w.@+-]+)+\/?$/;

/** The values of environment variables with secret names (spec 3, Redaction). */
export function secretsOf(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && isSecretVariable(name) && !PATH.test(value) ? [value] : [],
  );
}
