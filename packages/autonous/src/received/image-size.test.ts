import { expect, test } from "vitest";
import { greyPng } from "../../../../emulators/fake-telegram/media/images.ts";
import { imageSize } from "./image-size.ts";

/** Headers as encoders write them, up to a little past the size. */
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");
const JFIF = "ffd8 ffe0 0010 4a464946 00 0101 00 0001 0001 00 00";
const FRAME = "11 08 0140 01e0 03 01 22 00 02 11 01 03 11 01";

// oxfmt-ignore
const READ = [
  { title: "PNG",             type: "image/png",  content: greyPng(40, 30),                                        size: { width: 40, height: 30 } },
  { title: "baseline JPEG",   type: "image/jpeg", content: hex(`${JFIF} ffc0 00${FRAME}`),                         size: { width: 480, height: 320 } },
  { title: "progressive JPEG with tables and padding", type: "image/jpeg", content: hex(`${JFIF} ffdb 0004 0000 ffff ffc4 0003 00 ffc2 00${FRAME}`), size: { width: 480, height: 320 } },
  { title: "GIF",             type: "image/gif",  content: Buffer.from("GIF89a\x10\x27\x05\x00\x00\x00\x00", "latin1"), size: { width: 10_000, height: 5 } },
  { title: "lossy WebP",      type: "image/webp", content: hex("52494646 00000000 57454250 56503820 00000000 300000 9d012a 4000 2000"), size: { width: 64, height: 32 } },
  { title: "lossless WebP",   type: "image/webp", content: hex("52494646 00000000 57454250 5650384c 00000000 2f 3fc00700 0000000000"), size: { width: 64, height: 32 } },
  { title: "extended WebP",   type: "image/webp", content: hex("52494646 00000000 57454250 56503858 0a000000 10000000 3f7500 2f7500"), size: { width: 30_016, height: 30_000 } },
] as const;

test.each(READ)("the size of a $title is read from its header", ({ type, content, size }) => {
  expect(imageSize(content, type)).toEqual(size);
});

test.each(READ)(
  "a $title truncated anywhere before its size gives undefined, without an exception",
  ({ type, content }) => {
    for (let length = 0; length < content.length; length++) {
      const found = imageSize(content.subarray(0, length), type);
      if (length < 10) expect(found).toBeUndefined();
    }
  },
);

// oxfmt-ignore
const DAMAGED = [
  { title: "JPEG without a frame",               type: "image/jpeg", content: hex(`${JFIF} ffda 0008 0101 0000 3f00 ${"00".repeat(64)}`) },
  { title: "JPEG with invalid segments",          type: "image/jpeg", content: hex(`${JFIF} ${"00".repeat(64)}`) },
  { title: "JPEG with an empty segment",          type: "image/jpeg", content: hex(`${JFIF} ${"ffe1 0000".repeat(64)}`) },
  { title: "PNG with width 0",                    type: "image/png",  content: greyPng(0, 30) },
  { title: "PNG with another first chunk",        type: "image/png",  content: hex(`89504e470d0a1a0a 0000000d 49444154 ${"01".repeat(32)}`) },
  { title: "file of another image type",          type: "image/tiff", content: greyPng(40, 30) },
] as const;

test.each(DAMAGED)("a $title has no size", ({ type, content }) => {
  expect(imageSize(content, type)).toBeUndefined();
});
