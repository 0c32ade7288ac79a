/**
 * A preload (`--import`) that makes every folder endless, as a disk that never answers would: reading one goes on until
 * the caller stops it. Nothing of the program itself is replaced.
 */
import { Dir, Dirent } from "node:fs";

let count = 0;

Dir.prototype.readSync = () => {
  const entry = Object.assign(Object.create(Dirent.prototype) as Dirent, { name: `file-${count++}`, parentPath: "" });
  return Object.assign(entry, { isDirectory: () => false, isFile: () => true, isSymbolicLink: () => false });
};
