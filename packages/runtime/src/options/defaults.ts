/** Default values (spec 1, Output limits; spec 4, Configuration). */
// oxfmt-ignore
export const DEFAULTS = {
  lines:               2000,
  bytes:               51_200,
  timeout_ms:          30_000,
  bash_timeout_ms:     120_000,
  script_timeout_ms:   120_000,
  approval_timeout_ms: 3_600_000,
} as const;
