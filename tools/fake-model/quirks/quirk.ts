/** What a quirk is: a reply, or an answer instead of one, as servers are known to give it. */
import type { Conversation, FormatName, Refusal, RefusalTrouble } from "../formats/format.ts";
import type { Reply } from "../reply.ts";

/** What a client does that works. */
type Outcome = "uses it" | "tells the model" | "asks again" | "compacts" | "gives up" | "shows the refusal";

export interface QuirkContext {
  readonly conversation: Conversation;
  /** In the vendor's words and shape. */
  refusal(trouble: RefusalTrouble): Refusal;
  /** Below whose path it came. */
  readonly vendor: string | undefined;
  /** What the request counts for. */
  readonly tokens: number;
}

export type Change = (reply: Reply, context: QuirkContext) => Reply;

export interface Quirk {
  /** One line for `--list` and the documents. */
  readonly about: string;
  readonly client: Outcome;
  /** Where it is known from. Without it: all formats. */
  readonly formats?: readonly FormatName[];
  /** A reply that is said in another way. */
  readonly change?: Change;
  /** How the reply goes over the wire: the connection stays open after its end; or it is one JSON where a stream was asked for. */
  readonly wire?: "held_open" | "json" | "json_as_events";
  /** The model wrote a reply all the same, and that is billed. */
  readonly billed?: true;
  /** An answer instead of a reply. */
  answer?(context: QuirkContext): Refusal;
}
