/** Stricter than the redactor is with names in text: in an environment every `*_KEY` is one, and `PWD` is a folder. */
const SECRET_NAME =
  /TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|_KEY$|_PWD$/i;

/** Where a secret lies is none: taken for one, every mention of the path would go. */
const PATH = /^(?:\/|~\/|\.{1,2}\/)[\w.@+-]+(?:\/[\w.@+-]+)+\/?$/;

/** The values of an environment's variables that are named like secrets (spec 3, Redaction). */
export function secretsOf(environment: NodeJS.ProcessEnv): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) && !PATH.test(value) ? [value] : [],
  );
}
