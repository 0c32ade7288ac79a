/**
 * Replaces a secret (spec 3, Redaction). Text that contains it is not redacted again, and it is never written back to a
 * file.
 */
export const REDACTION_MARKER = "***REDACTED***";
