/** Text with its entities: bold, code, links and the like. */
export interface Entity {
  readonly type: string;
  /** In UTF-16 units, as all that Telegram counts. */
  readonly offset: number;
  readonly length: number;
  readonly url?: string;
  readonly language?: string;
  readonly user?: unknown;
  readonly custom_emoji_id?: string;
}

export interface Formatted {
  readonly text: string;
  readonly entities: readonly Entity[];
}

/** Thrown by the parsers; becomes `can't parse entities`. */
export class Unparsable extends Error {}

/** Telegram counts places in what it could not parse in bytes. */
export function byteOffset(text: string, at: number): number {
  return Buffer.byteLength(text.slice(0, at));
}

/** As Telegram gives them. Those that were closed last are the outer ones. */
export function outerFirst(entities: readonly Entity[]): readonly Entity[] {
  return entities.toReversed().sort((one, other) => one.offset - other.offset || other.length - one.length);
}
