/** Stands where a secret stood (spec 3, Redaction). Nothing that holds it is redacted again, and it never goes back into a file. */
export const REDACTION_MARKER = "***REDACTED***";
