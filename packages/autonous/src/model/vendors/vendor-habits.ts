import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import { CallIds, idRule } from "../prompt/call-ids.ts";
import { ChatReasoningWriter, reasoningRule } from "./chat-reasoning.ts";
import { chatMembers } from "./compatible-chat.ts";
import type { ProviderParts } from "../provider-parts.ts";
import { vendorsOfName } from "./vendors.ts";
import type { Vendors } from "./vendors.ts";

/** How the history of a request is written for a vendor. */
export interface Habits {
  readonly ids: CallIds;
  /** Whether a reply of this model comes from the same vendor, on any server. Undefined: unknown. */
  isOwn(maker: string | undefined): boolean | undefined;
  /** Inserted between results and a user message, if the vendor rejects one after the other. */
  readonly bridge?: string;
  /** Options that unsigned reasoning needs; otherwise the library drops it. */
  readonly unsigned?: SharedV4ProviderOptions;
  /** Placeholder for missing reasoning of a reply with calls, if the vendor requires reasoning. */
  readonly missingThought?: string;
  /** In chat format: non-standard fields of an assistant message. */
  readonly members?: (replied: {
    readonly parts: ProviderParts;
    readonly text: string;
    readonly hasCalls: boolean;
  }) => SharedV4ProviderOptions | undefined;
}

interface RequestTarget {
  /** The model's name in `AUTONOUS_MODEL`. */
  readonly name: string;
  readonly kind: string;
  readonly vendors: Vendors;
}

/** "Unexpected role 'user' after role 'tool'". */
const BRIDGE = "Understood.";

/** For one request: ids and reasoning depend on the earlier messages. */
export function habitsOf({ name, kind, vendors }: RequestTarget): Habits {
  const isChat = kind === "compatible";
  const writer = new ChatReasoningWriter(vendors);
  return {
    ids: new CallIds(idRule(kind, vendors)),
    isOwn: (maker) => (maker === undefined ? undefined : maker === name || isMadeBy(maker, vendors)),
    ...(vendors.maker === "mistral" ? { bridge: BRIDGE } : {}),
    ...(kind === "anthropic" && vendors.maker !== "anthropic" ? inAnthropicsFormat(vendors) : {}),
    ...(isChat
      ? {
          members: (replied) => {
            const members = writer.membersOf(replied);
            return Object.keys(members).length === 0 ? undefined : chatMembers(members);
          },
        }
      : {}),
  };
}

/** Servers with Anthropic's format often sign nothing, but still require their reasoning back. */
function inAnthropicsFormat(vendors: Vendors): Pick<Habits, "unsigned" | "missingThought"> {
  const unsigned = { anthropic: { signature: "" } };
  const { missing } = reasoningRule(vendors);
  return missing === undefined ? { unsigned } : { unsigned, missingThought: missing.text };
}

function isMadeBy(name: string, { maker }: Vendors): boolean {
  return maker !== "other" && vendorsOfName(name).maker === maker;
}
