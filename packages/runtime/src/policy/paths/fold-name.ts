/** Names for which lower case alone is not the folded form. */
const ODD = /[^\x00-\x7f]|~\d|[. ](?:\/|$)|:\$/;

const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;
const STREAM = /:(?:\$i30)?:\$[a-z_]+$/;
const TRAILING = /(?<![. ])[. ]+$/;
const SHORT_NAME = /^([^.~]{1,6})~\d$/;

/**
 * A path with each name folded for comparison with protected names, so that no spelling that some file system treats
 * as a protected name evades the check (git CVE-2014-9390): `.Git`, `.g\u200cit`, `.git.`, `.git::$DATA` and `GIT~1`
 * all become `.git`. Only for comparing: nothing is opened under a folded name.
 */
export function foldPath(path: string): string {
  return ODD.test(path) ? path.split("/").map(foldName).join("/") : path.toLowerCase();
}

function foldName(name: string): string {
  return (
    name
      // ext4 with casefold and HFS+ ignore these characters when comparing.
      .replace(IGNORED, "")
      .normalize("NFC")
      // Upper and then lower case equals full case folding for letters like the long s, which APFS treats as an s.
      .toUpperCase()
      .toLowerCase()
      // NTFS: the unnamed stream of a file, dots and spaces at the end, the 8.3 name of a file that starts with a dot.
      .replace(STREAM, "")
      .replace(TRAILING, "")
      .replace(SHORT_NAME, ".$1")
  );
}
