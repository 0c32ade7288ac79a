/** Names that lower case alone does not bring to the form in which they are compared. */
const ODD = /[^\x00-\x7f]|~\d|[. ](?:\/|$)|:\$/;

const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;
const STREAM = /:(?:\$i30)?:\$[a-z_]+$/;
const TRAILING = /(?<![. ])[. ]+$/;
const SHORT_NAME = /^([^.~]{1,6})~\d$/;

/**
 * A path with each name in the form in which protected names are compared, so that no spelling that some file
 * system takes for a protected name gets by (git CVE-2014-9390): `.Git`, `.g\u200cit`, `.git.`, `.git::$DATA` and
 * `GIT~1` all become `.git`. Only for comparing: nothing is opened under a folded name.
 */
export function foldPath(path: string): string {
  return ODD.test(path) ? path.split("/").map(foldName).join("/") : path.toLowerCase();
}

function foldName(name: string): string {
  return (
    name
      // ext4 with casefold and HFS+ skip these characters when they compare.
      .replace(IGNORED, "")
      .normalize("NFC")
      // Up and down again is what full case folding does to letters like the long s, which APFS takes for an s.
      .toUpperCase()
      .toLowerCase()
      // NTFS: the unnamed stream of a file, dots and spaces at the end, the 8.3 name of a file that starts with a dot.
      .replace(STREAM, "")
      .replace(TRAILING, "")
      .replace(SHORT_NAME, ".$1")
  );
}
