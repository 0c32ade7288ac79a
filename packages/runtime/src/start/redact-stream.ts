import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { createRedactor } from "../redact/redact.ts";

interface RedactStreamOptions {
  readonly known?: Iterable<string>;
  /**
   * For live display: after this many milliseconds without input, releases a held-back last word that does not look
   * like the start of a secret. Omitted: it is held back.
   */
  readonly pause_ms?: number;
}

/** A transform stream that redacts text. Secrets that span two chunks are found too. */
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
