import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { ToolError } from "../../protocol/errors.ts";

interface Body {
  readonly body: Buffer;
  /** Set if the body is still encoded. */
  readonly encoding: string | undefined;
  readonly truncated: boolean;
}

// oxfmt-ignore
const DECODERS: Readonly<Record<string, (first: number) => Transform>> = {
  gzip:     () => createGunzip(),
  "x-gzip": () => createGunzip(),
  // Some servers omit the zlib wrapper that this encoding requires.
  deflate:  (first) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br:       () => createBrotliDecompress(),
};

/** The encodings that requests accept; some servers ignore this. */
export const ACCEPTED_ENCODINGS = "gzip, deflate, br";

/** Compressed text is usually shorter than plain text. Reading stops this far above the limit. */
const OVERHEAD_BYTES = 65_536;

/**
 * The decompressed body, up to a limit. Only a few chunks beyond the limit are ever decompressed, whatever the
 * compression ratio. The rest is not read.
 */
export async function readBody(message: IncomingMessage, limit: number): Promise<Body> {
  const coding = message.headers["content-encoding"]?.trim().toLowerCase() ?? "";
  const isPlain = coding === "" || coding === "identity";
  const make = isPlain ? undefined : DECODERS[coding];
  const encoding = isPlain || make !== undefined ? undefined : coding;
  const chunks = make === undefined ? message : decoded(message, make, limit);
  const kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    kept.push(chunk);
    bytes += chunk.length;
    if (bytes > limit) break;
  }
  const truncated = bytes > limit;
  return { body: Buffer.concat(kept).subarray(0, limit), encoding, truncated };
}

async function* decoded(
  message: IncomingMessage,
  make: (first: number) => Transform,
  limit: number,
): AsyncGenerator<Buffer> {
  const source = (message as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const first = await source.next();
  if (first.done === true) return; // an empty body needs no decoding
  const decoder = make(first.value[0] ?? 0);
  const feeding = feed(decoder, first.value, { source, limit });
  feeding.catch(() => {}); // reported below
  try {
    yield* decoder as AsyncIterable<Buffer>;
    await feeding;
  } catch (error) {
    throw isFromDecoder(error) ? badEncoding(error) : error;
  } finally {
    decoder.destroy();
    await source.return?.();
  }
}

interface Feed {
  readonly source: AsyncIterator<Buffer>;
  readonly limit: number;
}

/** Feeds the decoder only as fast as its output is read. */
async function feed(decoder: Transform, first: Buffer, { source, limit }: Feed): Promise<void> {
  let wire = 0;
  try {
    for (let chunk: Buffer | undefined = first; chunk !== undefined;) {
      wire += chunk.length;
      // Compressed data without content would never reach the limit.
      if (wire > limit + OVERHEAD_BYTES) throw badEncoding(undefined);
      if (!decoder.write(chunk)) await drained(decoder);
      if (decoder.destroyed) return;
      const next = await source.next();
      chunk = next.done === true ? undefined : next.value;
    }
    decoder.end();
  } catch (error) {
    decoder.destroy(error as Error);
    throw error;
  }
}

async function drained(decoder: Transform): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  decoder.once("drain", resolve).once("close", resolve);
  await promise;
  decoder.off("drain", resolve).off("close", resolve);
}

function isFromDecoder(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return code.startsWith("Z_") || code.startsWith("ERR__ERROR_") || code.startsWith("ERR_BROTLI");
}

function badEncoding(error: unknown): ToolError {
  return new ToolError(
    "IOError",
    "Cannot read the response: its body does not match its content encoding, or is truncated",
    {
      reason: (error as NodeJS.ErrnoException | undefined)?.code ?? "too_long",
      hint: "Retry; if it fails again, the server is at fault.",
    },
    error,
  );
}
