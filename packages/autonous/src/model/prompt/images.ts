/** What every provider that takes images takes. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);
/** Providers take no larger picture. */
export const MOST_IMAGE_BYTES = 3_500_000;
