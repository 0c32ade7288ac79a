import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { createRedactor } from "./redact/redact.ts";

/** A stream that takes text in pieces of any size and gives it back redacted. A secret cut by the border of two pieces does not get through. */
export function createRedactStream(options: { readonly known?: Iterable<string> } = {}): Transform {
  const redactor = createRedactor(options).stream();
  const decoder = new StringDecoder("utf8");
  return new Transform({
    decodeStrings: true,
    transform(chunk: Buffer, _encoding, done) {
      done(null, redactor.push(decoder.write(chunk)));
    },
    flush(done) {
      done(null, redactor.push(decoder.end()) + redactor.end());
    },
  });
}
