import { createHash } from "node:crypto";
import type { AttachmentStart, AttachmentWriter } from "../../contract/context.ts";
import type { ArtifactWriter } from "../../contract/journal.ts";
import { makeVisible } from "../../output/visible.ts";
import { MAX_ATTACHED_BYTES } from "../../protocol/attachment.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { Redactor } from "../../redact/redact.ts";
import type { GateParts } from "../parts.ts";
import type { Opened } from "../stages.ts";

interface AttachmentOptions {
  readonly call: Opened;
  readonly parts: Pick<GateParts, "folder" | "redactor">;
}

/**
 * Copies a file into the run's folder, redacted. The name is derived from the content, so equal content is one file.
 */
export function openAttachment(file: AttachmentStart, { call, parts }: AttachmentOptions): AttachmentWriter {
  const { redactor, folder } = parts;
  const { attempt } = call;
  const name = redactor.redact(makeVisible(file.name)).text;
  const caption = file.caption === undefined ? {} : { caption: redactor.redact(file.caption).text };
  const id = `${call.request.tool_call_id}-${attempt.attachments.length}`;
  const writer = writing(name, () => folder.openArtifact(id));
  const copy = new Copy(writer, name);
  const passed = file.encoding === null ? copy : new RedactedText(copy, redactor, file.encoding);
  return {
    write: (piece) => passed.write(piece),
    end() {
      const { redacted } = passed.end();
      const { bytes, sha256 } = copy.facts();
      const artifact = writing(name, () => writer.keep(`${sha256.slice(0, 16)}-${safeName(name)}`));
      const attached = { artifact, name, media_type: file.media_type, bytes, sha256, ...caption };
      attempt.attachments = [...attempt.attachments, attached];
      attempt.is_output_redacted ||= redacted;
      return { file: attached, redacted };
    },
    drop: () => writer.drop(),
  };
}

class Copy {
  readonly #writer: ArtifactWriter;
  readonly #name: string;
  readonly #hash = createHash("sha256");
  #bytes = 0;

  constructor(writer: ArtifactWriter, name: string) {
    this.#writer = writer;
    this.#name = name;
  }

  write(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (this.#bytes > MAX_ATTACHED_BYTES) throw tooLarge(this.#name);
    this.#hash.update(piece);
    writing(this.#name, () => this.#writer.write(piece));
  }

  end(): { readonly redacted: boolean } {
    return { redacted: false };
  }

  facts(): { readonly bytes: number; readonly sha256: string } {
    return { bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }
}

class RedactedText {
  readonly #copy: Copy;
  readonly #stream: ReturnType<Redactor["stream"]>;
  readonly #codec: ReturnType<typeof codecOf>;

  constructor(copy: Copy, redactor: Redactor, encoding: Parameters<typeof codecOf>[0]) {
    this.#copy = copy;
    this.#stream = redactor.stream();
    this.#codec = codecOf(encoding);
  }

  write(piece: Uint8Array): void {
    this.#put(this.#stream.push(this.#codec.decode(piece)));
  }

  end(): { readonly redacted: boolean } {
    this.#put(this.#stream.push(this.#codec.end()));
    this.#put(this.#stream.end());
    this.#copy.write(this.#codec.rest());
    return { redacted: this.#stream.redacted };
  }

  #put(text: string): void {
    if (text !== "") this.#copy.write(this.#codec.encode(text));
  }
}

/** Characters that every file system accepts; the receiver sees the original name. */
function safeName(name: string): string {
  const safe = name.replaceAll(/[^A-Za-z0-9._-]+/g, "_").replace(/^[.-]+/, "");
  return safe.slice(-80) || "file"; // keeps the extension
}

/** A full disk is reported as such, not as an error of the call. */
function writing<Result>(name: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new ToolError(
      "IOError",
      `Cannot attach "${name}": its copy could not be written (${code ?? syscall})`,
      { hint: "Ask the user to check the disk that holds the state folder." },
      error,
    );
  }
}

function tooLarge(name: string): ToolError {
  return new ToolError("FileTooLarge", `Cannot attach "${name}": it is larger than ${MAX_ATTACHED_BYTES} bytes`, {
    limit_bytes: MAX_ATTACHED_BYTES,
    hint: "Compress it, attach a part of it, or give the user its path.",
  });
}

interface TextCodec {
  /** The complete characters so far. */
  decode(piece: Uint8Array): string;
  end(): string;
  /** Trailing bytes that are not a complete character. */
  rest(): Uint8Array;
  encode(text: string): Buffer;
}

const NOTHING = new Uint8Array(0);

/** Converts bytes to text and back; unchanged text gives the same bytes, wherever the chunks were cut. */
const CODECS = {
  utf8: () => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return {
      decode: (piece) => decoder.decode(piece, { stream: true }),
      end: () => decoder.decode(),
      rest: () => NOTHING,
      encode: (text) => Buffer.from(text, "utf8"),
    };
  },
  latin1: () => ({
    decode: (piece) => viewOf(piece).toString("latin1"),
    end: () => "",
    rest: () => NOTHING,
    encode: (text) => Buffer.from(text, "latin1"),
  }),
  utf16le: () => wideCodec((bytes) => bytes),
  utf16be: () => wideCodec((bytes) => bytes.swap16()),
} as const satisfies Record<NonNullable<AttachmentStart["encoding"]>, () => TextCodec>;

function codecOf(encoding: keyof typeof CODECS): TextCodec {
  return CODECS[encoding]();
}

/** Two bytes per unit. The halves of a surrogate pair may arrive separately; they are joined in the text. */
function wideCodec(inOrder: (bytes: Buffer) => Buffer): TextCodec {
  let odd = Buffer.alloc(0);
  return {
    decode(piece) {
      const bytes = Buffer.concat([odd, piece]); // a copy, because byte swapping changes it
      const whole = bytes.length - (bytes.length % 2);
      odd = Buffer.from(bytes.subarray(whole));
      return inOrder(bytes.subarray(0, whole)).toString("utf16le");
    },
    end: () => "",
    rest: () => odd, // half a unit
    encode: (text) => inOrder(Buffer.from(text, "utf16le")),
  };
}

function viewOf(piece: Uint8Array): Buffer {
  return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
}
