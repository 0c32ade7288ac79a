import { expect, test } from "vitest";
import { howToRun } from "./interpreter.ts";

// oxfmt-ignore
const CASES = [
  { path: "scripts/a.py",   executable: false, head: "print()",                   how: "python3" },
  { path: "scripts/a.sh",   executable: false, head: "#!/bin/zsh\n",              how: "bash" },
  { path: "scripts/a.TS",   executable: false, head: "",                          how: "node" },
  { path: "scripts/a.b.rb", executable: false, head: "",                          how: "ruby" },
  { path: "scripts/a.pl",   executable: false, head: "",                          how: "perl" },
  { path: "scripts/a.py",   executable: true,  head: "#!/usr/bin/env python3\nx", how: "itself" },
  { path: "scripts/a",      executable: true,  head: "#! /bin/sh",                how: "itself" },
  { path: "scripts/a",      executable: true,  head: "\x7fELF\x02",               how: "itself" },
  { path: "scripts/a.py",   executable: true,  head: "print()",                   how: "python3" },
  { path: "scripts/a.py",   executable: true,  head: "#!/usr/bin/python3\r\nx",   how: "python3" },
  { path: "scripts/a",      executable: true,  head: "#!/bin/sh\r\n",             how: /carriage return/ },
  { path: "scripts/a",      executable: true,  head: "echo",                      how: /no "#!" line/ },
  { path: "scripts/a",      executable: true,  head: "#!relative\n",              how: /no "#!" line/ },
  { path: "scripts/a",      executable: true,  head: "",                          how: /no "#!" line/ },
  { path: "scripts/a",      executable: false, head: "#!/bin/sh\n",               how: /not executable/ },
  { path: "scripts/.py",    executable: false, head: "",                          how: /not executable/ },
  { path: "scripts.py/a",   executable: false, head: "",                          how: /not executable/ },
  { path: "scripts/a.exe",  executable: false, head: "MZ",                        how: /not executable/ },
] as const;

for (const { path, executable, head, how } of CASES) {
  const name = `${path}${executable ? ", executable," : ""} that begins with ${JSON.stringify(head)}`;
  test(`${name} runs by ${how}`, () => {
    const found = howToRun({ path, executable, head: Buffer.from(head, "latin1") });

    if (typeof how === "string") expect(found).toBe(how);
    else expect(found).toEqual({ refusal: expect.stringMatching(how) as string });
  });
}
