/** Whether an absolute, normalised path is the folder itself or lies below it. `/workspace` is not inside `/work`. */
export function isInside(folder: string, path: string): boolean {
  if (!path.startsWith(folder)) return false;
  return path.length === folder.length || folder.endsWith("/") || path.charCodeAt(folder.length) === SLASH;
}

const SLASH = 47;
