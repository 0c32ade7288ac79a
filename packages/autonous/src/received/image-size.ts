/** Size of an image in pixels, from its header. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

type ReadSize = (content: Buffer) => ImageSize | undefined;

// oxfmt-ignore
const READERS: Readonly<Record<string, ReadSize>> = {
  "image/png":  readPng,
  "image/jpeg": readJpeg,
  "image/gif":  readGif,
  "image/webp": readWebp,
};

/** Reads only the header, decodes nothing. Undefined if the header is damaged or truncated. */
export function imageSize(content: Buffer, media_type: string): ImageSize | undefined {
  const size = Object.hasOwn(READERS, media_type) ? READERS[media_type]?.(content) : undefined;
  return size === undefined || size.width === 0 || size.height === 0 ? undefined : size;
}

const PNG_HEADER_BYTES = 33;

function readPng(content: Buffer): ImageSize | undefined {
  if (content.length < PNG_HEADER_BYTES || content.toString("latin1", 12, 16) !== "IHDR") return undefined;
  return { width: content.readUInt32BE(16), height: content.readUInt32BE(20) };
}

/** Frame headers are C0 to CF, except tables (C4, CC) and a reserved marker (C8). */
const NOT_FRAMES: ReadonlySet<number> = new Set([0xc4, 0xc8, 0xcc]);
/** Start of the image data: frame headers come before it. */
const SCAN = 0xda;

function readJpeg(content: Buffer): ImageSize | undefined {
  for (let at = 2; at + 9 <= content.length;) {
    const mark = content.readUInt8(at + 1);
    if (content.readUInt8(at) !== 0xff || mark === SCAN) return undefined;
    if (mark === 0xff) at += 1; // padding
    else if (mark >= 0xc0 && mark <= 0xcf && !NOT_FRAMES.has(mark))
      return { height: content.readUInt16BE(at + 5), width: content.readUInt16BE(at + 7) };
    else at += 2 + content.readUInt16BE(at + 2);
  }
  return undefined;
}

const GIF_HEADER_BYTES = 13;

function readGif(content: Buffer): ImageSize | undefined {
  if (content.length < GIF_HEADER_BYTES) return undefined;
  return { width: content.readUInt16LE(6), height: content.readUInt16LE(8) };
}

const WEBP_HEADER_BYTES = 30;

/** Lossy, lossless and extended files have their sizes at different offsets. */
function readWebp(content: Buffer): ImageSize | undefined {
  if (content.length < WEBP_HEADER_BYTES) return undefined;
  switch (content.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { width: content.readUInt16LE(26) & 0x3fff, height: content.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = content.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: content.readUIntLE(24, 3) + 1, height: content.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}
