/** `user`: the person's own, for every workspace. `workspace`: by the author of the file, which tools may be able to change. */
export type NoteStanding = "user" | "workspace";

/** A file of notes for agents, such as `AGENTS.md`, as far as it is given to a model. */
export interface ProjectNote {
  /** Relative to the working folder; of the person's own: below `~`. */
  readonly path: string;
  readonly standing: NoteStanding;
  /** As it stands in the file: the caller marks it as data, redacts it and makes it visible. */
  readonly text: string;
  /** Size of the file. */
  readonly bytes: number;
  /** Only the beginning is in `text`: the limit of all notes together was reached. */
  readonly truncated?: true;
  /** The path of the note that imports it. */
  readonly imported_by?: string;
}

/** A file that was found and not read. */
export interface SkippedNote {
  readonly path: string;
  /** A clause about the file: "it leads outside the allowed roots". */
  readonly why: string;
}

/** What was found for a working folder. */
export interface ProjectNotes {
  /** The person's own first, then from the root down to the working folder: the later one is the more specific. */
  readonly notes: readonly ProjectNote[];
  readonly skipped: readonly SkippedNote[];
}
