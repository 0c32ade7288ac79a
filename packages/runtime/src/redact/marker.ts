/** Stands where a secret stood (spec 3, Redaction). Nothing that holds it is redacted again. */
export const MARKER = "***REDACTED***";
