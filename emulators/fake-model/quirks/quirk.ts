/** A quirk: a known deviation of servers, as a changed reply or as a response instead of one. */
import type { Conversation, FormatName, Refusal, RefusalTrouble } from "../formats/format.ts";
import type { Reply } from "../reply.ts";

/** What a working client does. */
type Outcome = "uses it" | "tells the model" | "retries" | "compacts" | "gives up" | "shows the refusal";

export interface QuirkContext {
  readonly conversation: Conversation;
  /** In the vendor's words and format. */
  refusal(trouble: RefusalTrouble): Refusal;
  /** The vendor of the path. */
  readonly vendor: string | undefined;
  /** Tokens of the request. */
  readonly tokens: number;
}

export type Change = (reply: Reply, context: QuirkContext) => Reply;

export interface Quirk {
  /** One line for `--list` and the documents. */
  readonly about: string;
  readonly client: Outcome;
  /** The formats in which it occurs. Default: all. */
  readonly formats?: readonly FormatName[];
  /** Changes the reply. */
  readonly change?: Change;
  /** How the reply goes over the wire: the connection stays open after its end; or it is one JSON document although a stream was requested. */
  readonly wire?: "held_open" | "json" | "json_as_events";
  /** The model generated a reply anyway, which is billed. */
  readonly billed?: true;
  /** A response instead of a reply. */
  answer?(context: QuirkContext): Refusal;
}
