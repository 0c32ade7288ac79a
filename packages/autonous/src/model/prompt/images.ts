/** Image types accepted by every provider with image input. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);
/** Maximum image size of the providers. */
export const MAX_IMAGE_BYTES = 3_500_000;
/**
 * Maximum per side. Providers reject more, and a self-hosted server would decode it: a small file may expand to a
 * gigabyte.
 */
export const MOST_IMAGE_PIXELS = 8000;
