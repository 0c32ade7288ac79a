import { expect, test } from "vitest";
import { decodeResponse } from "./response-text.ts";

const utf8 = (text: string): Buffer => Buffer.from(text, "utf8");
const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
const utf16 = (text: string): Buffer => Buffer.from(text, "utf16le");

// oxfmt-ignore
const TEXTS = [
  ["UTF-8 where nothing is said",        utf8("grün"),                                     undefined,                            "grün",  "utf-8"],
  ["UTF-8 by its type",                  utf8("grün"),                                     "text/plain; charset=UTF-8",          "grün",  "utf-8"],
  ["Latin-1 by its type",                latin1("grün"),                                   'text/plain; x=y; Charset="ISO-8859-1"', "grün", "windows-1252"],
  ["Shift JIS by its type",              Buffer.from([0x93, 0xfa, 0x96, 0x7b]),            "text/html;charset=shift_jis",        "日本",  "shift_jis"],
  ["a byte order mark before the type",  utf8("\ufeffgrün"),                               "text/plain; charset=iso-8859-1",     "grün",  "utf-8"],
  ["UTF-16 by its mark",                 utf16("\ufeffgrün"),                              "text/plain",                         "grün",  "utf-16le"],
  ["UTF-16 by its type",                 utf16("grün"),                                    "text/plain; charset=utf-16le",       "grün",  "utf-16le"],
  ["a name that no encoding has",        utf8("grün"),                                     "text/plain; charset=klingon",        "grün",  "utf-8"],
  ["a page that says it itself",         latin1('<meta charset="iso-8859-1">grün'),        "text/html",                          '<meta charset="iso-8859-1">grün', "windows-1252"],
  ["a page that says it the old way",    latin1('<meta http-equiv=x content="text/html; charset=latin1">ü'), "text/html",        '<meta http-equiv=x content="text/html; charset=latin1">ü', "windows-1252"],
  ["JSON",                               utf8('{"a":1}'),                                  "application/json",                   '{"a":1}', "utf-8"],
  ["text that is said to be anything",   utf8("plain"),                                    "application/octet-stream",           "plain", "utf-8"],
  ["nothing at all",                     Buffer.alloc(0),                                  undefined,                            "",      "utf-8"],
] as const;

test.each(TEXTS)("%s is decoded", (...row) => {
  const [, body, type, text, charset] = row;
  expect(decodeResponse(body, type)).toMatchObject({ text, charset });
});

test.each([
  ["a picture", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), "image/png", "image/png"],
  ["a picture without a type", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), undefined, "image/png"],
  [
    "a picture that says it is a page",
    Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
    "text/html",
    "text/html",
  ],
] as const)("%s is not text", (_title, body, type, media_type) => {
  expect(decodeResponse(body, type)).toEqual({ text: undefined, charset: undefined, media_type });
});

test("a page without a type is known by its beginning", () => {
  expect(decodeResponse(utf8("\n<!DOCTYPE html><p>x"), undefined).media_type).toBe("text/html");
});
