import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import { CallIds, idRule } from "../prompt/call-ids.ts";
import { ChatReasoningWriter, reasoningRule } from "./chat-reasoning.ts";
import { chatMembers } from "./compatible-chat.ts";
import type { ProviderParts } from "../provider-parts.ts";
import { vendorsOfName } from "./vendors.ts";
import type { Vendors } from "./vendors.ts";

/** How the history of one request is written for the vendor that gets it. */
export interface Habits {
  readonly ids: CallIds;
  /** Whether the vendor, or its model behind another server, made what this model made. Undefined: its maker is not known. */
  isOwn(maker: string | undefined): boolean | undefined;
  /** Stands between results and what the user says, where the vendor refuses the two after one another. */
  readonly bridge?: string;
  /** What unsigned reasoning needs to be sent; otherwise the format's library leaves it out. */
  readonly unsigned?: SharedV4ProviderOptions;
  /** Stands for the reasoning of a reply with calls that has none, where the vendor refuses one without. */
  readonly missingThought?: string;
  /** In chat format: what an assistant message has beside the standard's members. */
  readonly members?: (replied: {
    readonly parts: ProviderParts;
    readonly text: string;
    readonly hasCalls: boolean;
  }) => SharedV4ProviderOptions | undefined;
}

interface RequestTarget {
  /** Of the model that is asked, as `AUTONOUS_MODEL` names it. */
  readonly name: string;
  readonly kind: string;
  readonly vendors: Vendors;
}

/** "Unexpected role 'user' after role 'tool'". */
const BRIDGE = "Understood.";

/** For one request: ids and reasoning depend on what stands before them. */
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

/** Servers with Anthropic's format often sign nothing, and still want their reasoning back. */
function inAnthropicsFormat(vendors: Vendors): Pick<Habits, "unsigned" | "missingThought"> {
  const unsigned = { anthropic: { signature: "" } };
  const { missing } = reasoningRule(vendors);
  return missing === undefined ? { unsigned } : { unsigned, missingThought: missing.text };
}

function isMadeBy(name: string, { maker }: Vendors): boolean {
  return maker !== "other" && vendorsOfName(name).maker === maker;
}
