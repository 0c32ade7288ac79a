import { expect, test } from "vitest";
import { isInScripts, isPythonModule, waysToRun } from "./interpreter.ts";

// oxfmt-ignore
const CASES = [
  { path: "scripts/a.py",   executable: false, head: "print()",                   ways: ["python3"] },
  { path: "scripts/a.sh",   executable: false, head: "#!/bin/zsh\n",              ways: ["bash", "/bin/zsh"] },
  { path: "scripts/a.TS",   executable: false, head: "",                          ways: ["node"] },
  { path: "scripts/a.b.rb", executable: false, head: "",                          ways: ["ruby"] },
  { path: "scripts/a.pl",   executable: false, head: "",                          ways: ["perl"] },
  { path: "scripts/a.R",    executable: false, head: "",                          ways: ["Rscript"] },
  { path: "scripts/a.py",   executable: true,  head: "#!/usr/bin/env python3\nx", ways: ["itself python3", "python3"] },
  { path: "scripts/a",      executable: true,  head: "#! /bin/sh",                ways: ["itself /bin/sh"] },
  { path: "scripts/a",      executable: true,  head: "\x7fELF\x02",               ways: ["itself"] },
  { path: "scripts/a.py",   executable: true,  head: "print()",                   ways: ["python3"] },
  { path: "scripts/a.py",   executable: true,  head: "#!/usr/bin/python3\r\nx",   ways: ["python3", "/usr/bin/python3"] },
  { path: "scripts/a",      executable: true,  head: "#!/bin/sh\r\n",             ways: ["/bin/sh"] },
  { path: "scripts/a",      executable: false, head: "#!/bin/sh -e\n",            ways: ["/bin/sh -e"] },
  { path: "scripts/a",      executable: false, head: "#!/usr/bin/env -S deno run --quiet\n", ways: ["deno run --quiet"] },
  { path: "scripts/a",      executable: false, head: "#!/usr/bin/env A=1 sh\n",   ways: ["/usr/bin/env A=1 sh"] },
  { path: "scripts/a",      executable: true,  head: "echo",                      refusal: /no "#!" line/ },
  { path: "scripts/a",      executable: true,  head: "#!relative\n",              refusal: /no "#!" line/ },
  { path: "scripts/a",      executable: true,  head: "",                          refusal: /no "#!" line/ },
  { path: "scripts/.py",    executable: false, head: "",                          refusal: /ends in none of/ },
  { path: "scripts.py/a",   executable: false, head: "",                          refusal: /ends in none of/ },
  { path: "scripts/a.exe",  executable: false, head: "MZ",                        refusal: /ends in none of/ },
  { path: "scripts/a.xsd",  executable: false, head: "<?xml?>",                   refusal: /ends in none of/ },
] as const;

for (const { path, executable, head, ...expected } of CASES) {
  const name = `${path}${executable ? ", executable," : ""} that begins with ${JSON.stringify(head)}`;
  test(`${name} runs by ${"ways" in expected ? expected.ways.join(", then ") : "nothing"}`, () => {
    const found = waysToRun({ path, executable, head: Buffer.from(head, "latin1") });

    if ("refusal" in found) expect(found.refusal).toMatch("refusal" in expected ? expected.refusal : "no refusal");
    else {
      const words = found.map(({ itself, program, args }) => [...(itself ? ["itself"] : []), program, ...args]);
      expect(words.map((each) => each.filter(Boolean).join(" "))).toEqual("ways" in expected ? expected.ways : []);
    }
  });
}

// oxfmt-ignore
const PYTHON = [
  { title: "the file of a package",             path: "scripts/__init__.py", text: "#!/usr/bin/env python3\n",                      isModule: true },
  { title: "only definitions",                  path: "scripts/a.py", text: 'import os\n\nX = 1\n\n@x\ndef a():\n    print()\n',      isModule: true },
  { title: "text that reads like a program",    path: "scripts/a.py", text: '"""Usage:\nrun(it)\n"""\nclass A:\n    pass\n',          isModule: true },
  { title: "a guard that refuses",              path: "scripts/a.py", text: 'def a(): pass\nif __name__ == "__main__":\n    raise RuntimeError("no")\n', isModule: true },
  { title: "a guard",                           path: "scripts/a.py", text: 'def a(): pass\nif __name__ == "__main__":\n    a()\n',    isModule: false },
  { title: "a call at the left edge",           path: "scripts/a.py", text: "def a(): pass\na()\n",                                   isModule: false },
  { title: "no definitions",                    path: "scripts/a.py", text: "x = 1\n",                                                isModule: false },
  { title: 'a "#!" line',                       path: "scripts/a.py", text: "#!/usr/bin/python3\ndef a(): pass\n",                    isModule: false },
  { title: "nothing of Python",                 path: "scripts/a.sh", text: "def a\n",                                                isModule: false },
];

for (const { title, path, text, isModule } of PYTHON) {
  test(`${path} with ${title} is ${isModule ? "imported" : "run"}`, () => {
    expect(isPythonModule(path, text)).toBe(isModule);
  });
}

test("no text of a script takes long to tell apart", () => {
  const hostile = [
    `a:${" ".repeat(250_000)}`,
    '"""'.repeat(80_000),
    "'''\"\"\"".repeat(40_000),
    "def a\n".repeat(40_000),
  ];
  for (const text of hostile) expect(typeof isPythonModule("scripts/a.py", `def a(): pass\n${text}`)).toBe("boolean");
});

test.each([
  ["scripts/a.py", true],
  ["ooxml/scripts/a.py", true],
  ["core/a.py", false],
  ["my-scripts/a.py", false],
  ["scripts", false],
] as const)("whether %s lies among scripts: %s", (path, isIn) => {
  expect(isInScripts(path)).toBe(isIn);
});
