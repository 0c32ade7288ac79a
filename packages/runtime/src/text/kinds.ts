import { startOfCharacter } from "./characters.ts";

interface ContentKind {
  readonly kind: "text" | "image" | "binary" | "utf-16";
  readonly media_type: string;
}

/** Git and ripgrep scan about as far for a NUL. */
const SAMPLE_BYTES = 8192;

interface Row {
  readonly media_type: string;
  /** Hexadecimal; `?` stands for any digit. */
  readonly magic: string;
  readonly at?: number;
  /** No text starts like this. The other rows apply only if the rest is not text either. */
  readonly sure?: true;
}

// oxfmt-ignore
const ROWS: readonly Row[] = [
  { media_type: "image/png",                        magic: "89504e470d0a1a0a" },
  { media_type: "image/jpeg",                       magic: "ffd8ff" },
  { media_type: "image/gif",                        magic: "47494638 3?61" },
  { media_type: "image/webp",                       magic: "52494646 ???????? 57454250" },
  { media_type: "image/bmp",                        magic: "424d ???????? 00000000" },
  { media_type: "image/x-icon",                     magic: "00000100 ??00" },
  { media_type: "image/tiff",                       magic: "49492a00" },
  { media_type: "image/tiff",                       magic: "4d4d002a" },
  { media_type: "image/avif",                       magic: "???????? 66747970 61766966" },
  { media_type: "image/avif",                       magic: "???????? 66747970 61766973" },
  { media_type: "image/heic",                       magic: "???????? 66747970 68656963" },
  { media_type: "image/heic",                       magic: "???????? 66747970 68656978" },
  { media_type: "image/heif",                       magic: "???????? 66747970 6d696631" },
  { media_type: "image/jxl",                        magic: "ff0a" },
  { media_type: "image/jxl",                        magic: "0000000c 4a584c20 0d0a870a" },
  { media_type: "image/jp2",                        magic: "0000000c 6a502020 0d0a870a" },
  { media_type: "image/vnd.adobe.photoshop",        magic: "38425053 0001" },

  { media_type: "application/pdf",                  magic: "255044462d", sure: true },
  { media_type: "application/x-cfb",                magic: "d0cf11e0a1b11ae1" },

  { media_type: "application/zip",                  magic: "504b0304" },
  { media_type: "application/zip",                  magic: "504b0506" },
  { media_type: "application/gzip",                 magic: "1f8b08" },
  { media_type: "application/x-xz",                 magic: "fd377a585a00" },
  { media_type: "application/zstd",                 magic: "28b52ffd" },
  { media_type: "application/x-bzip2",              magic: "425a68 3? 314159265359" },
  { media_type: "application/x-lz4",                magic: "04224d18" },
  { media_type: "application/x-7z-compressed",      magic: "377abcaf271c" },
  { media_type: "application/vnd.rar",              magic: "526172211a07" },
  { media_type: "application/x-tar",                magic: "7573746172", at: 257 },
  { media_type: "application/x-archive",            magic: "213c617263683e0a" },
  { media_type: "application/vnd.ms-cab-compressed", magic: "4d534346 00000000" },
  { media_type: "application/x-rpm",                magic: "edabeedb" },

  { media_type: "application/x-elf",                magic: "7f454c46" },
  { media_type: "application/x-mach-binary",        magic: "feedface" },
  { media_type: "application/x-mach-binary",        magic: "feedfacf" },
  { media_type: "application/x-mach-binary",        magic: "cefaedfe" },
  { media_type: "application/x-mach-binary",        magic: "cffaedfe" },
  { media_type: "application/x-mach-binary",        magic: "cafebabe 0000000?" }, // versions of Java begin at 45
  { media_type: "application/java-vm",              magic: "cafebabe" },
  { media_type: "application/vnd.microsoft.portable-executable", magic: "4d5a ?????? 00" },
  { media_type: "application/wasm",                 magic: "0061736d" },
  { media_type: "application/x-llvm-bitcode",       magic: "4243c0de" },

  { media_type: "application/vnd.sqlite3",          magic: "53514c69746520666f726d6174203300" },
  { media_type: "application/vnd.apache.parquet",   magic: "50415231" },
  { media_type: "application/x-hdf5",               magic: "894844460d0a1a0a" },
  { media_type: "application/x-git-pack",           magic: "5041434b 000000" },

  { media_type: "audio/mpeg",                       magic: "494433 0?" },
  { media_type: "audio/mpeg",                       magic: "fffb" },
  { media_type: "audio/mpeg",                       magic: "fff3" },
  { media_type: "audio/mpeg",                       magic: "fff2" },
  { media_type: "audio/aac",                        magic: "fff1" },
  { media_type: "audio/aac",                        magic: "fff9" },
  { media_type: "audio/flac",                       magic: "664c6143" },
  { media_type: "audio/wav",                        magic: "52494646 ???????? 57415645" },
  { media_type: "audio/midi",                       magic: "4d546864 00000006" },
  { media_type: "audio/mp4",                        magic: "???????? 66747970 4d3441" },
  { media_type: "application/ogg",                  magic: "4f676753 00" },
  { media_type: "video/quicktime",                  magic: "???????? 66747970 71742020" },
  { media_type: "video/mp4",                        magic: "???????? 66747970" },
  { media_type: "video/x-msvideo",                  magic: "52494646 ???????? 41564920" },
  { media_type: "video/matroska",                   magic: "1a45dfa3" },
  { media_type: "video/mpeg",                       magic: "000001ba" },

  { media_type: "font/woff",                        magic: "774f4646" },
  { media_type: "font/woff2",                       magic: "774f4632" },
  { media_type: "font/otf",                         magic: "4f54544f 00" },
  { media_type: "font/ttf",                         magic: "00010000 00" },
  { media_type: "font/collection",                  magic: "74746366 00" },
];

interface Matcher extends Pick<Row, "media_type" | "sure"> {
  readonly at: number;
  readonly values: readonly number[];
  readonly masks: readonly number[];
}

let matchers: readonly Matcher[] | undefined;

/** Detects the content type from the first 8 KiB; file names are not reliable. */
export function recogniseContent(bytes: Uint8Array): ContentKind {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  if (sample[0] === 0xff && sample[1] === 0xfe) return { kind: "utf-16", media_type: "text/plain; charset=utf-16le" };
  if (sample[0] === 0xfe && sample[1] === 0xff) return { kind: "utf-16", media_type: "text/plain; charset=utf-16be" };
  const holdsNul = sample.includes(0);
  matchers ??= ROWS.map(compile);
  const found = matchers.find((matcher) => matches(sample, matcher));
  if (found !== undefined && (found.sure === true || holdsNul || !isUtf8(sample))) {
    const { media_type } = found;
    return { kind: media_type.startsWith("image/") ? "image" : "binary", media_type };
  }
  return holdsNul
    ? { kind: "binary", media_type: "application/octet-stream" }
    : { kind: "text", media_type: "text/plain" };
}

function compile({ media_type, magic, at = 0, sure }: Row): Matcher {
  const pairs = magic.replaceAll(" ", "").match(/../g) ?? [];
  return {
    media_type,
    at,
    values: pairs.map((pair) => Number.parseInt(pair.replaceAll("?", "0"), 16)),
    masks: pairs.map((pair) => Number.parseInt(pair.replaceAll(/[^?]/g, "f").replaceAll("?", "0"), 16)),
    ...(sure === undefined ? {} : { sure }),
  };
}

function matches(sample: Uint8Array, { at, values, masks }: Matcher): boolean {
  if (sample.length < at + values.length) return false;
  for (let index = 0; index < values.length; index++) {
    if (((sample[at + index] ?? 0) & (masks[index] ?? 0)) !== values[index]) return false;
  }
  return true;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The sample may end inside a character. */
function isUtf8(sample: Uint8Array): boolean {
  const whole = sample.length < SAMPLE_BYTES ? sample : sample.subarray(0, startOfCharacter(sample, SAMPLE_BYTES - 1));
  try {
    decoder.decode(whole);
    return true;
  } catch {
    return false; // the only error of a fatal decoder
  }
}
