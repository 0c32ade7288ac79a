import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { createRedactor } from "./redact/redact.ts";

interface RedactStreamOptions {
  readonly known?: Iterable<string>;
  /**
   * For people who watch: after so many milliseconds without text, a last word is given out that waits for what follows
   * it and does not read as the start of a secret. Left out: it waits.
   */
  readonly pause_ms?: number;
}

/** A stream that takes text in pieces of any size and gives it back redacted. A secret cut by the border of two pieces does not get through. */
export function createRedactStream({ pause_ms, ...options }: RedactStreamOptions = {}): Transform {
  const redactor = createRedactor(options).stream();
  const decoder = new StringDecoder("utf8");
  let timer: NodeJS.Timeout | undefined;
  const stream = new Transform({
    decodeStrings: true,
    transform(chunk: Buffer, _encoding, done) {
      clearTimeout(timer);
      if (pause_ms !== undefined) timer = setTimeout(pause, pause_ms).unref();
      done(null, redactor.push(decoder.write(chunk)));
    },
    flush(done) {
      clearTimeout(timer);
      done(null, redactor.push(decoder.end()) + redactor.end());
    },
    destroy(error, done) {
      clearTimeout(timer);
      done(error);
    },
  });
  function pause(): void {
    const word = redactor.pause();
    if (word !== "" && stream.writable) stream.push(word);
  }
  return stream;
}
