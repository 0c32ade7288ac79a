/**
 * `user`: the user's own notes, for every workspace. `workspace`: written by the author of the file, which tools may be
 * able to change.
 */
export type NoteStanding = "user" | "workspace";

/** A notes file for agents, such as `AGENTS.md`, with the part that is passed to a model. */
export interface ProjectNote {
  /** Relative to the working folder; the user's own notes: below `~`. */
  readonly path: string;
  readonly standing: NoteStanding;
  /** Raw text of the file: the caller marks it as data, redacts it and escapes control characters. */
  readonly text: string;
  /** Size of the file. */
  readonly bytes: number;
  /** `text` has only the beginning: the total limit for notes was reached. */
  readonly truncated?: true;
  /** The path of the note that imports it. */
  readonly imported_by?: string;
}

/** A file that was found but not read. */
export interface SkippedNote {
  readonly path: string;
  /** A clause about the file: "it points outside the allowed roots". */
  readonly why: string;
}

/** The notes found for a working folder. */
export interface ProjectNotes {
  /** The user's own first, then from the root down to the working folder: later notes are more specific. */
  readonly notes: readonly ProjectNote[];
  readonly skipped: readonly SkippedNote[];
}
