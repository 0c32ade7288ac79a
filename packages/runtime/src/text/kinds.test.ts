import { closeSync, openSync, readSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { recogniseContent } from "./kinds.ts";

function tar(): Buffer {
  const header = Buffer.alloc(1024);
  header.write("a.txt");
  header.write("ustar", 257);
  return header;
}

// oxfmt-ignore
const CASES = [
  { title: "nothing",                         bytes: Buffer.alloc(0),                                        kind: "text",   media_type: "text/plain" },
  { title: "text",                            bytes: Buffer.from("let a = 1;\n"),                            kind: "text",   media_type: "text/plain" },
  { title: "Latin-1 text",                    bytes: Buffer.from("caf\u00e9\n", "latin1"),                   kind: "text",   media_type: "text/plain" },
  { title: "text that begins like a bitmap",  bytes: Buffer.from("BM is how bitmaps begin"),                 kind: "text",   media_type: "text/plain" },
  { title: "text that begins like a program", bytes: Buffer.from("MZ caf\u00e9 au lait", "latin1"),          kind: "text",   media_type: "text/plain" },
  { title: "text that begins like a picture", bytes: Buffer.from("GIF89a is a format"),                      kind: "text",   media_type: "text/plain" },
  { title: "text with terminal escapes",      bytes: Buffer.from("\u001b[31mred\u001b[0m"),                  kind: "text",   media_type: "text/plain" },
  { title: "bytes with a NUL",                bytes: Buffer.from("a\0b"),                                    kind: "binary", media_type: "application/octet-stream" },
  { title: "UTF-16",                          bytes: Buffer.from("\ufeffhi", "utf16le"),                     kind: "utf-16", media_type: "text/plain; charset=utf-16le" },
  { title: "a PNG",                           bytes: Buffer.from("89504e470d0a1a0a0000000d", "hex"),         kind: "image",  media_type: "image/png" },
  { title: "a JPEG",                          bytes: Buffer.from("ffd8ffe000104a464946", "hex"),             kind: "image",  media_type: "image/jpeg" },
  { title: "a GIF",                           bytes: Buffer.from("474946383961010001008000", "hex"),         kind: "image",  media_type: "image/gif" },
  { title: "a WebP",                          bytes: Buffer.from("52494646240000005745425056503820", "hex"), kind: "image",  media_type: "image/webp" },
  { title: "a bitmap",                        bytes: Buffer.from("424d46000000000000003600", "hex"),         kind: "image",  media_type: "image/bmp" },
  { title: "an AVIF",                         bytes: Buffer.from("0000001c6674797061766966", "hex"),         kind: "image",  media_type: "image/avif" },
  { title: "a PDF of pure ASCII",             bytes: Buffer.from("%PDF-1.4\n1 0 obj\n"),                     kind: "binary", media_type: "application/pdf" },
  { title: "a ZIP",                           bytes: Buffer.from("504b03041400000008000000", "hex"),         kind: "binary", media_type: "application/zip" },
  { title: "a gzip",                          bytes: gzipSync("hello"),                                      kind: "binary", media_type: "application/gzip" },
  { title: "a tar",                           bytes: tar(),                                                  kind: "binary", media_type: "application/x-tar" },
  { title: "a Java class",                    bytes: Buffer.from("cafebabe00000041", "hex"),                 kind: "binary", media_type: "application/java-vm" },
  { title: "a fat Mach-O",                    bytes: Buffer.from("cafebabe00000002", "hex"),                 kind: "binary", media_type: "application/x-mach-binary" },
  { title: "a program of Windows",            bytes: Buffer.from("4d5a90000300000004000000", "hex"),         kind: "binary", media_type: "application/vnd.microsoft.portable-executable" },
  { title: "a database of SQLite",            bytes: Buffer.from("SQLite format 3\0\x10\0"),                 kind: "binary", media_type: "application/vnd.sqlite3" },
  { title: "a WebAssembly module",            bytes: Buffer.from("0061736d01000000", "hex"),                 kind: "binary", media_type: "application/wasm" },
  { title: "an MP4",                          bytes: Buffer.from("000000206674797069736f6d", "hex"),         kind: "binary", media_type: "video/mp4" },
] as const;

for (const { title, bytes, kind, media_type } of CASES) {
  test(`${title} is ${kind}, ${media_type}`, () => {
    expect(recogniseContent(bytes)).toEqual({ kind, media_type });
  });
}

test("the running program is recognised", () => {
  const sample = Buffer.alloc(9000);
  const program = openSync(process.execPath, "r");
  readSync(program, sample);
  closeSync(program);
  expect(recogniseContent(sample)).toEqual({ kind: "binary", media_type: "application/x-elf" });
});

test("a sample that ends inside a character is still text", () => {
  for (const lead of ["BM", "BMx", "BMxx"]) {
    expect(recogniseContent(Buffer.from(lead + "😀".repeat(4000))).kind, lead).toBe("text");
  }
});

test("a NUL after the sample does not make a binary of a text", () => {
  expect(recogniseContent(Buffer.concat([Buffer.alloc(8192, "a"), Buffer.from([0])])).kind).toBe("text");
});
