/** What every provider that takes images takes. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);
/** Providers take no larger picture. */
export const MOST_IMAGE_BYTES = 3_500_000;
/** Of either side. Providers refuse more, and a server of one's own would decode it: a small file may be a gigabyte then. */
export const MOST_IMAGE_PIXELS = 8000;
