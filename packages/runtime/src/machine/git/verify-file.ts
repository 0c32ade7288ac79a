import { createHash } from "node:crypto";
import { fstatSync } from "node:fs";
import { createInflate } from "node:zlib";
import { readPieces } from "../system/bytes.ts";

interface LooseOptions {
  readonly algorithm: string;
  readonly oid: string;
}

/** The SHA-256 of a file with a loose git object; undefined if the object does not match its id. */
export async function verifyLoose(fd: number, { algorithm, oid }: LooseOptions): Promise<string | undefined> {
  const file = createHash("sha256");
  const object = createHash(algorithm);
  const inflate = createInflate();
  const done = new Promise<boolean>((resolve) => {
    inflate.on("data", (piece: Buffer) => object.update(piece));
    inflate.on("end", () => resolve(true));
    inflate.on("error", () => resolve(false));
  });
  for await (const piece of readPieces(fd, new AbortController().signal)) {
    file.update(piece);
    // Copied, because the chunk's buffer is reused for the next read.
    if (!inflate.write(Buffer.from(piece))) await Promise.race([drained(inflate), done]);
    if (inflate.destroyed) return undefined;
  }
  inflate.end();
  return (await done) && object.digest("hex") === oid ? file.digest("hex") : undefined;
}

function drained(stream: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    stream.once("drain", resolve);
  });
}

interface TrailerOptions {
  readonly algorithm: string;
  /** The trailing hash of the file when it was first seen. */
  readonly trailer: Buffer;
}

/** The SHA-256 of a file that ends with a hash of its preceding content; undefined if that is missing or different. */
export async function verifyTrailer(fd: number, { algorithm, trailer }: TrailerOptions): Promise<string | undefined> {
  const file = createHash("sha256");
  const body = createHash(algorithm);
  const bodyBytes = fstatSync(fd).size - trailer.length;
  let seen = 0;
  const end: Buffer[] = [];
  for await (const piece of readPieces(fd, new AbortController().signal)) {
    file.update(piece);
    const inBody = Math.max(0, Math.min(piece.length, bodyBytes - seen));
    body.update(piece.subarray(0, inBody));
    end.push(Buffer.from(piece.subarray(inBody)));
    seen += piece.length;
  }
  return Buffer.concat(end).equals(trailer) && body.digest().equals(trailer) ? file.digest("hex") : undefined;
}
