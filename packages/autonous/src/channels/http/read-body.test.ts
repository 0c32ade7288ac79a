import { expect, test } from "vitest";
import { foreignForm } from "./read-body.ts";

// oxfmt-ignore
const TAKEN: readonly [encoding: string | undefined, type: string | undefined][] = [
  [undefined, undefined], ["", ""], ["identity", "application/json"], ["Identity, identity", "application/json; charset=utf-8"],
  [undefined, 'application/json;CHARSET="UTF-8"'], [undefined, "text/plain; charset = utf8 ; x=y"], [undefined, "application/x-www-form-urlencoded"],
  [undefined, "multipart/form-data; boundary=charset"], [undefined, "application/json; xcharset=latin1"], [" , ", "application/json;"],
];

test.each(TAKEN)("a body with Content-Encoding %j and Content-Type %j is read", (encoding, type) => {
  expect(foreignForm(encoding, type)).toBeUndefined();
});

// oxfmt-ignore
const REFUSED: readonly [encoding: string | undefined, type: string | undefined, says: RegExp][] = [
  ["gzip", "application/json", /"gzip"/], ["identity, br", undefined, /"br"/], ["GZIP", undefined, /"GZIP"/], ["x-unknown", undefined, /uncompressed/],
  ["zstd;q=1", undefined, /zstd/], ["identityx", undefined, /identityx/],
  [undefined, "application/json; charset=utf-16", /"utf-16".*UTF-8/], [undefined, 'application/json;charset="ISO-8859-1"', /"ISO-8859-1"/],
  [undefined, "text/plain;charset=windows-1252", /windows-1252/], [undefined, "application/json; charset=utf-8; charset=utf-7", /"utf-7"/],
  [undefined, "application/json; charset=", /charset ""/], [undefined, "application/json; charset*=UTF-8''utf-8", /UTF-8''utf-8/],
  [undefined, 'application/json; charset="utf-16', /utf-16/], [undefined, "application/json, text/plain;\tcharset=UCS-2", /UCS-2/],
];

test.each(REFUSED)("a body with Content-Encoding %j and Content-Type %j is refused", (encoding, type, says) => {
  expect(foreignForm(encoding, type)).toMatch(says);
});
