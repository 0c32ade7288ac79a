/**
 * Stricter than the redactor's rules for names in text: in an environment every `*_KEY` is a secret, and `PWD` is a
 * folder.
 */
const SECRET_NAME =
  /TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|_KEY$|_PWD$/i;

/** The path of a secret file is not a secret; otherwise every mention of the path would be redacted. */
const PATH = /^(?:\/|~\/|\.{1,2}\/)[\w.@+-]+(?:\/[\w.@+-]+)+\/?$/;

/** The values of environment variables with secret names (spec 3, Redaction). */
export function secretsOf(environment: NodeJS.ProcessEnv): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) && !PATH.test(value) ? [value] : [],
  );
}
