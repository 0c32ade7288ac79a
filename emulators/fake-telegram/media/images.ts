/** As much of pictures as Telegram's rules need: whether it is one, and how large; and small ones to send. */
import { crc32, deflateSync } from "node:zlib";

export interface Picture {
  readonly mime_type: string;
  readonly width: number;
  readonly height: number;
}

/** Undefined: not a picture that Telegram can read, or one that was cut off. */
export function readPicture(content: Buffer): Picture | undefined {
  return readPng(content) ?? readJpeg(content) ?? readGif(content) ?? readWebp(content);
}

const PNG_MARK = Buffer.from("89504e470d0a1a0a", "hex");
const PNG_END = Buffer.from("49454e44ae426082", "hex");

function readPng(content: Buffer): Picture | undefined {
  if (content.length < 45 || !content.subarray(0, 8).equals(PNG_MARK) || !content.includes(PNG_END)) return undefined;
  return { mime_type: "image/png", width: content.readUInt32BE(16), height: content.readUInt32BE(20) };
}

/** The frame headers are C0 to CF, except for tables (C4, CC) and a mark that is reserved (C8). */
function readJpeg(content: Buffer): Picture | undefined {
  if (content.length < 12 || content.readUInt16BE(0) !== 0xffd8 || !content.includes(Buffer.from("ffd9", "hex")))
    return undefined;
  for (let at = 2; at + 9 < content.length; at += 2 + content.readUInt16BE(at + 2)) {
    const mark = content.readUInt8(at + 1);
    if (content.readUInt8(at) !== 0xff) return undefined;
    if (mark >= 0xc0 && mark <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(mark))
      return { mime_type: "image/jpeg", height: content.readUInt16BE(at + 5), width: content.readUInt16BE(at + 7) };
  }
  return undefined;
}

function readGif(content: Buffer): Picture | undefined {
  if (content.length < 14 || !/^GIF8[79]a$/.test(content.toString("latin1", 0, 6))) return undefined;
  return { mime_type: "image/gif", width: content.readUInt16LE(6), height: content.readUInt16LE(8) };
}

/** Lossy, lossless and extended have their sizes in different places. */
function readWebp(content: Buffer): Picture | undefined {
  if (content.length < 30 || content.toString("latin1", 0, 4) !== "RIFF") return undefined;
  const mime_type = "image/webp";
  switch (content.toString("latin1", 8, 16)) {
    case "WEBPVP8 ":
      return { mime_type, width: content.readUInt16LE(26) & 0x3fff, height: content.readUInt16LE(28) & 0x3fff };
    case "WEBPVP8L": {
      const bits = content.readUInt32LE(21);
      return { mime_type, width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
    }
    case "WEBPVP8X":
      return { mime_type, width: content.readUIntLE(24, 3) + 1, height: content.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/** A PNG of one grey. */
export function greyPng(width: number, height: number, grey = 128): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8); // bits per sample; the other bytes stay 0: grey, deflate, no filter, not interlaced
  const row = Buffer.concat([Buffer.of(0), Buffer.alloc(width, grey)]);
  const rows = Buffer.concat(Array.from({ length: height }, () => row));
  const parts = [PNG_MARK, chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat(parts);
}

function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
