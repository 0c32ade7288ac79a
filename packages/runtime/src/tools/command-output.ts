import type { CommandChanges } from "../contract/command-changes.ts";
import type { ToolContext, TranscriptEnd } from "../contract/context.ts";
import type { OutputStream } from "../contract/processes.ts";
import type { ToolOutput } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { ToolError } from "../protocol/errors.ts";

/** Maximum number of names in a record; the total count is given with them. */
const MAX_FILES = 1000;
const MAX_NOTES = 20;
const LINE_END = 10;

/** After this long without output, the last word is shown too, such as a prompt that waits for input. */
const PAUSE_MS = 250;
const STREAMS: readonly OutputStream[] = ["stdout", "stderr"];

type OnOutput = (stream: OutputStream, piece: Buffer) => void;

/**
 * Writes a command's output to its transcript, followed by notes on what it changed. `run` gets the sink for the
 * output; the part that is safe to show immediately goes to `progress`.
 */
export async function keepOutput<End extends { readonly changes: CommandChanges }>(
  { openTranscript, progress }: Pick<ToolContext, "openTranscript" | "progress">,
  run: (onOutput: OnOutput) => Promise<End>,
): Promise<{ readonly end: End; readonly printed: TranscriptEnd }> {
  const transcript = openTranscript();
  let isLineOpen = false;
  let end: End;
  let timer: NodeJS.Timeout | undefined;
  const show = (stream: OutputStream, text: string): void => {
    if (text !== "") progress(null, text, stream);
  };
  const pause = (): void => STREAMS.forEach((stream) => show(stream, transcript.pause(stream)));
  try {
    end = await run((stream, piece) => {
      if (stream === "stderr") isLineOpen = piece.at(-1) !== LINE_END;
      show(stream, transcript.write(stream, piece));
      timer = timer?.refresh() ?? setTimeout(pause, PAUSE_MS).unref();
    });
  } catch (error) {
    transcript.end(); // closes its file
    throw error;
  } finally {
    clearTimeout(timer);
  }
  const note = noteOn(end.changes);
  if (note !== "") transcript.write("stderr", Buffer.from(`${isLineOpen ? "\n" : ""}${note}`));
  return { end, printed: transcript.end() };
}

interface PresentedCommand {
  readonly command: string;
  readonly changes: CommandChanges;
  readonly printed: TranscriptEnd;
  readonly failure: ToolError | undefined;
}

/** The part of a result that all commands have. */
export function presentCommand({
  command,
  changes,
  printed,
  failure,
}: PresentedCommand): Omit<ToolOutput<unknown>, "data"> {
  const { stdout, stderr, truncated_lines, truncated_bytes, aside } = printed;
  const { artifacts, meta } = describeChanges(changes);
  return {
    stdout,
    stderr,
    truncated_lines,
    truncated_bytes,
    ...(aside === undefined ? {} : { aside }),
    ...(failure === undefined ? {} : { failure }),
    artifacts: { commands_run: [command], ...artifacts },
    meta,
  };
}

/** The person is also told what was set aside: it may have been their file. */
export async function notifySetAside(
  changes: CommandChanges,
  { display }: Pick<ToolContext, "display">,
): Promise<void> {
  const { taken_back, taken_back_more = 0, set_aside_id } = changes;
  if (taken_back.length === 0) return;
  const named = taken_back
    .slice(0, MAX_NOTES)
    .map(({ path, why, outcome }) => `${path}: ${SET_ASIDE[outcome]} (${why})`);
  const more = further(taken_back.length - MAX_NOTES, taken_back_more, "files");
  const undo = set_aside_id === undefined ? [] : [`Restore: autonous undo ${set_aside_id}`];
  await display({
    level: "warning",
    title: "A file that runs later appeared while a command ran",
    content: [...named, ...more, ...undo].map(makeVisible).join("\n"),
  });
}

/** The result's fields about the files that a command changed. */
export function describeChanges(changes: CommandChanges) {
  const { files, undo_id } = changes;
  const count = countFiles(changes);
  return {
    artifacts: {
      files_changed: files.slice(0, MAX_FILES).map(({ path }) => path),
      ...(undo_id === undefined ? {} : { undo_id }),
    },
    meta: {
      ...(count > MAX_FILES ? { files_changed: count } : {}),
      ...named("added", files),
      ...named("deleted", files),
    },
  };
}

const CHANGES = { added: "added", deleted: "removed" } as const;

/** Among the named files: the new and the deleted ones. */
function named(
  what: keyof typeof CHANGES,
  files: CommandChanges["files"],
): Readonly<Record<string, readonly string[]>> {
  const paths = files.slice(0, MAX_FILES).filter(({ change }) => change === CHANGES[what]);
  return paths.length === 0 ? {} : { [what]: paths.map(({ path }) => path) };
}

/** How many files a command changed, including those that are not named. */
export function countFiles({ files, files_more = 0 }: CommandChanges): number {
  return files.length + files_more;
}

/** One line each: reverted changes, changes that cannot be undone, unchecked paths, and possible changes by others. */
export function noteOn(changes: CommandChanges, isBackground = false): string {
  const { files, files_more = 0, taken_back, taken_back_more = 0, left_out, left_out_more } = changes;
  const { untracked = [] } = changes;
  const stays = files.filter(({ undoable }) => !undoable);
  const notes = [
    ...taken_back
      .slice(0, MAX_NOTES)
      .map(({ path, why, outcome }) => `${path}: ${SET_ASIDE[outcome]}: it runs later or is off limits (${why})`),
    ...further(taken_back.length - MAX_NOTES, taken_back_more, "files that run later or are off limits"),
    ...stays
      .slice(0, MAX_NOTES)
      .map(({ path, why_not }) => `${path}: undo cannot restore this${why_not === undefined ? "" : `: ${why_not}`}`),
    ...further(stays.length - MAX_NOTES, files_more, "changes that undo cannot restore"),
    ...left_out
      .slice(0, MAX_NOTES)
      .map(({ path, why }) => `${path}: changes in it are not listed, and undo cannot restore them: ${why}`),
    ...further(0, left_out_more, "paths are not listed"),
    ...untracked.slice(0, MAX_NOTES).map((path) => `${path}: ${UNTRACKED}`),
    ...further(untracked.length - MAX_NOTES, 0, "hidden files that git no longer tracks"),
    ...(changes.unsure === undefined ? [] : [`${changes.unsure} more changes: ${UNSURE}`]),
    ...(changes.overlapped && (isBackground || files.length > 0) ? [OVERLAPPED] : []),
  ];
  return notes.map((note) => `[${makeVisible(note)}]\n`).join("");
}

/** Why the runtime stopped a command: what happened to a protected path. */
export function stoppedBy(unprotected: string): string {
  return `stopped: "${unprotected}" was created or replaced while the command ran, and the sandbox could no longer protect it`;
}

export function unprotectedError(what: string, unprotected: string): ToolError {
  return new ToolError("Cancelled", `${what} was ${stoppedBy(unprotected)}`, {
    path: unprotected,
    hint: "Run it again; its output and changes until then are listed.",
  });
}

function further(unnamed: number, unkept: number, what: string): readonly string[] {
  const count = Math.max(0, unnamed) + unkept;
  return count === 0 ? [] : [`${count} more ${what}`];
}

const SET_ASIDE = {
  restored: "the change was set aside",
  removed: "set aside",
  stays: "could not be set aside",
} as const;

const UNTRACKED =
  "git no longer tracks it: it is hidden from commands, so git recorded it as deleted. Undo this call unless intended; use git add with explicit paths";

const UNSURE =
  "commands of other sessions ran at the same time, so these changes may be theirs; they are not listed, and undo skips them";

const OVERLAPPED =
  "another command ran at the same time: a change may be its own, and changes it reported are not repeated";
