import type { Json } from "../json-values.ts";

/**
 * Reads the answers of one wire format, with the deviations of real servers, and converts them to the form that the
 * provider's library expects. Stores facts about the answer in `Received`.
 */
export interface AnswerReader {
  /** Whether a value is an answer or part of one. Other values may be an error, or meaningless. */
  isReply(value: Json): boolean;
  /** Takes a value; returns what is passed to the library. */
  take(value: Json): readonly Json[];
  /** The finish reason is the only end mark of the format, and some servers omit it. */
  readonly endsWithBody?: true;
  /** The answer contained its end mark. */
  readonly isOver: boolean;
  /** Values that the library needs at the end of an accepted answer. */
  end(): readonly Json[];
}
