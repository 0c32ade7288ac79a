import type { Json } from "../json-values.ts";

/**
 * Reads the answers of one wire format, as servers really write them, and gives them back as the provider's library expects
 * them. What it learns about the answer goes into `Received`.
 */
export interface AnswerReader {
  /** Whether a value is part of an answer, or all of it. What is not may be an error, or nothing. */
  isReply(value: Json): boolean;
  /** Takes a value; gives back what goes on to the library. */
  take(value: Json): readonly Json[];
  /** The format has no other sign of the end than the finish reason, and servers that leave it out. */
  readonly endsWithBody?: true;
  /** The answer has said that it is complete. */
  readonly isOver: boolean;
  /** What the library needs at the end of an answer that is accepted. */
  end(): readonly Json[];
}
