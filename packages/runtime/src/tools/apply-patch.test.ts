import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";

const envelope = (...lines: string[]): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");

/** Every file below a folder with its content. */
function treeOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return Object.fromEntries(files.toSorted().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

test("files are added, changed, moved and deleted in one call, and undone in one call", async () => {
  const { path, make, call } = await scratch({ profile: "autonomous" });
  await make({ "root/change.txt": "one\ntwo\n", "root/old/move.sh": "echo 1\n", "root/gone.txt": "gone\n" });
  chmodSync(join(path, "root/old/move.sh"), 0o755);
  const before = treeOf(join(path, "root"));
  const patch_text = envelope(
    "*** Add File: new/deep/add.txt",
    "+added",
    "*** Update File: change.txt",
    "@@",
    " one",
    "-two",
    "+2",
    "*** Update File: old/move.sh",
    "*** Move to: bin/move.sh",
    "@@",
    "-echo 1",
    "+echo 2",
    "*** Delete File: gone.txt",
  );

  const { error, payload, artifacts } = await call("apply_patch", { patch_text });

  expect(error).toBeNull();
  expect(payload?.data).toEqual({
    added: ["new/deep/add.txt"],
    changed: ["change.txt"],
    moved: [{ from: "old/move.sh", to: "bin/move.sh" }],
    deleted: ["gone.txt"],
  });
  expect(payload?.stdout).toBe("A new/deep/add.txt\nM change.txt\nR old/move.sh -> bin/move.sh\nD gone.txt\n");
  expect(treeOf(join(path, "root"))).toEqual({
    "bin/move.sh": "echo 2\n",
    "change.txt": "one\n2\n",
    "new/deep/add.txt": "added\n",
  });
  expect(statSync(join(path, "root/bin/move.sh")).mode & 0o777).toBe(0o755);
  expect(artifacts.files_changed.toSorted()).toEqual(
    ["bin/move.sh", "change.txt", "gone.txt", "new/deep/add.txt", "old/move.sh"].toSorted(),
  );

  expect((await call("undo", { undo_id: artifacts.undo_id })).error).toBeNull();
  expect(treeOf(join(path, "root"))).toEqual(before);
  expect(existsSync(join(path, "root/new"))).toBe(false);
});

test("a unified diff is applied too", async () => {
  const { make, call, read } = await scratch();
  await make({ "root/a.txt": "one\ntwo\nthree\n" });
  const patch_text = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
  expect((await call("apply_patch", { patch_text })).error).toBeNull();
  expect(await read("root/a.txt")).toBe("one\n2\nthree\n");
});

// oxfmt-ignore
const REFUSED = [
  { title: "a third of five files that does not fit", code: "PatchConflict",        lines: ["*** Add File: 1.txt", "+1", "*** Update File: a.txt", "@@", "-a", "+A", "*** Update File: b.txt", "@@", "-not there", "+B", "*** Update File: c.txt", "@@", "-c", "+C", "*** Add File: 5.txt", "+5"] },
  { title: "a third file that is a folder",           code: "InvalidArguments",     lines: ["*** Add File: 1.txt", "+1", "*** Update File: a.txt", "@@", "-a", "+A", "*** Update File: dir", "@@", "-b", "+B"] },
  { title: "a file below a file",                     code: "InvalidArguments",     lines: ["*** Update File: a.txt", "@@", "-a", "+A", "*** Add File: b.txt/inner.txt", "+1"] },
  { title: "an update of a missing file",             code: "NotFound",             lines: ["*** Update File: a.txt", "@@", "-a", "+A", "*** Update File: missing.txt", "@@", "-b", "+B"] },
  { title: "a path that climbs out",                  code: "PathTraversalBlocked", lines: ["*** Update File: a.txt", "@@", "-a", "+A", "*** Add File: ../evil.txt", "+1"] },
  { title: "an absolute path outside",                code: "PathTraversalBlocked", lines: ["*** Add File: /etc/evil.txt", "+1"] },
  { title: "a move that climbs out",                  code: "PathTraversalBlocked", lines: ["*** Update File: a.txt", "*** Move to: ../evil.txt", "@@", "-a", "+A"] },
  { title: "a file through a link to outside",        code: "PathTraversalBlocked", lines: ["*** Add File: link/evil.txt", "+1"] },
  { title: "a sensitive place",                       code: "SensitivePath",        lines: ["*** Add File: .ssh/authorized_keys", "+1"] },
  { title: "redacted text",                           code: "InvalidArguments",     lines: ["*** Update File: a.txt", "@@", "-a", "+***REDACTED***"] },
  { title: "an empty patch",                          code: "InvalidArguments",     lines: [] },
];

for (const { title, code, lines } of REFUSED) {
  test(`${title} changes nothing at all`, async () => {
    const { path, make, call } = await scratch({ profile: "autonomous" });
    await make({ "root/a.txt": "a\n", "root/b.txt": "b\n", "root/c.txt": "c\n", "root/link": "-> ../outside" });
    mkdirSync(join(path, "outside"));
    mkdirSync(join(path, "root/dir"));
    const before = treeOf(path);

    const { error, artifacts } = await call("apply_patch", { patch_text: envelope(...lines) });

    expect({ code: error?.code, message: error?.message }).toMatchObject({ code });
    expect(artifacts.files_changed).toEqual([]);
    expect(treeOf(path)).toEqual(before);
  });
}

test("a patch that deletes is of high risk and asked for; one that does not runs", async () => {
  const { make, runtime } = await scratch();
  await make({ "root/a.txt": "a\n", "root/b.txt": "b\n" });
  const explain = (...lines: string[]): ReturnType<typeof runtime.explain> =>
    runtime.explain({ name: "apply_patch", args: { patch_text: envelope(...lines) } });

  expect((await explain("*** Delete File: a.txt")).effect).toBe("REQUIRE_CONFIRMATION");
  expect((await explain("*** Update File: b.txt", "@@", "-b", "+B")).effect).toBe("ALLOW");
  const many = Array.from({ length: 21 }, (_, i) => [`*** Add File: ${i}.txt`, "+x"]).flat();
  expect((await explain(...many)).rule).toBe("builtin:many_files");
});
