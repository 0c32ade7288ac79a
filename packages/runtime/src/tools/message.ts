/** Declaration of tools that only show something to the user: nothing is read or changed, and it can be shown again. */
export const SHOWS_MESSAGE = {
  required_permissions: [],
  side_effects: ["message"],
  risk: "low",
  permission_class: "readonly",
  audit_operation: "display",
  read_only: true,
} as const;
