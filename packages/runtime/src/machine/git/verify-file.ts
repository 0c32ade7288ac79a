import { createHash } from "node:crypto";
import { fstatSync } from "node:fs";
import { createInflate } from "node:zlib";
import { readPieces } from "../files/bytes.ts";

interface LooseOptions {
  readonly algorithm: string;
  readonly oid: string;
}

/** The SHA-256 of a file that holds a loose object of git; undefined where the object is not the one of that name. */
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
    // A piece is good until the next one is read.
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
  /** What the file ended with when it was seen first. */
  readonly trailer: Buffer;
}

/** The SHA-256 of a file that ends with the hash of all before it; undefined where it does not, or with another one. */
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
