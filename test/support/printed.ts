/** Keeps what a command prints, as bytes and as text. */
export function keepPrinted() {
  const pieces = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const bytes = (stream: "stdout" | "stderr"): Buffer => Buffer.concat(pieces[stream]);
  return {
    onOutput: (stream: "stdout" | "stderr", piece: Buffer): void => void pieces[stream].push(piece),
    bytes,
    stdout: (): string => bytes("stdout").toString(),
    stderr: (): string => bytes("stderr").toString(),
  };
}
