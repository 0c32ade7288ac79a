import * as fc from "fast-check";
import { expect, test } from "vitest";
import { foldPath } from "./fold-name.ts";

// oxfmt-ignore
const CASES = [
  { title: "plain names alone",                      path: "/work/src/a-b_c.test.ts",      folded: "/work/src/a-b_c.test.ts" },
  { title: "capitals",                               path: "/work/.SSH/Id_RSA",            folded: "/work/.ssh/id_rsa" },
  { title: "a zero-width character",                 path: "/work/.g\u200cit/x",           folded: "/work/.git/x" },
  { title: "a byte order mark",                      path: "/\ufeff.ssh",                  folded: "/.ssh" },
  { title: "a soft hyphen",                          path: "/.s\u00adsh",                  folded: "/.ssh" },
  { title: "the Kelvin sign",                        path: "/.\u212aube",                  folded: "/.kube" },
  { title: "the long s",                             path: "/.\u017fsh",                   folded: "/.ssh" },
  { title: "decomposed letters",                     path: "/e\u0301",                     folded: "/\u00e9" },
  { title: "dots at the end",                        path: "/.git./hooks..",               folded: "/.git/hooks" },
  { title: "spaces at the end",                      path: "/.git /x",                     folded: "/.git/x" },
  { title: "the short name of .git",                 path: "/GIT~1/hooks",                 folded: "/.git/hooks" },
  { title: "the short name of .ssh",                 path: "/ssh~2",                       folded: "/.ssh" },
  { title: "the unnamed stream of a file",           path: "/.git::$DATA",                 folded: "/.git" },
  { title: "the index stream of a folder",           path: "/.git:$I30:$INDEX_ALLOCATION", folded: "/.git" },
  { title: "dots at the beginning alone",            path: "/..foo",                       folded: "/..foo" },
  { title: "a tilde of an editor's copy alone",      path: "/a.txt~",                      folded: "/a.txt~" },
  { title: "spaces inside alone",                    path: "/a b/c",                       folded: "/a b/c" },
  { title: "line breaks alone",                      path: "/a\nb",                        folded: "/a\nb" },
] as const;

for (const { title, path, folded } of CASES) {
  test(`folding handles ${title}`, () => {
    expect(foldPath(path)).toBe(folded);
  });
}

test("a path folds name by name, so a folder's fold begins the fold of what lies in it", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }).map((text) => text.replaceAll("/", "_"))), (names) => {
      expect(foldPath(names.join("/"))).toBe(names.map(foldPath).join("/"));
    }),
  );
});

test("composed and decomposed spellings fold to the same", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(foldPath(text.normalize("NFD"))).toBe(foldPath(text.normalize("NFC")));
    }),
  );
});

test("a name made to go wrong is folded, not waited for", () => {
  expect(foldPath(`~1${". ".repeat(200_000)}x`)).toHaveLength(400_003);
});
