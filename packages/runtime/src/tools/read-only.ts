/** Declaration of tools that only read. */
export const READ_ONLY = {
  side_effects: ["none"],
  risk: "low",
  permission_class: "readonly",
  audit_operation: "read",
  concurrency_safe: true,
  read_only: true,
  idempotent: true,
} as const;
