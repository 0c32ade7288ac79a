import type { AttachedFile } from "@autonous/runtime";

/** What is to be sent. Each is recorded in the commit that makes it: an answer, a file, a question, something to show. */
export type Outgoing =
  | { readonly kind: "text"; readonly text: string }
  | ({ readonly kind: "file" } & AttachedFile)
  | { readonly kind: "approval"; readonly approval_id: string }
  | ShownMessage;

/** What a tool showed while its task goes on, to be sent as a message of its own. */
export interface ShownMessage {
  readonly kind: "display";
  readonly content: string;
  readonly level: string;
  readonly title?: string;
  readonly evidence?: readonly string[];
}
