/** An update puts other files in the place of those that a running service was started from. */
import { renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyClone, copyInstall } from "./support/own-clone.ts";
import { scratchPlace, startService } from "./support/service.ts";

// oxfmt-ignore
const COPIES = [
  { title: "a clone",              copy: copyClone,   program: "packages/autonous/src/cli/bin.ts",               code: "packages/runtime/src" },
  { title: "an installed package", copy: copyInstall, program: "lib/node_modules/autonous/dist/bin/autonous.js", code: "lib/node_modules/autonous/dist" },
] as const;

for (const { title, copy, program, code } of COPIES) {
  test(`a service of ${title} that was replaced reports it, without a path of the installation`, async () => {
    const place = scratchPlace();
    const installation = join(place.path, "installation");
    copy(installation);
    const environment = { AUTONOUS_MODEL: "direct" };
    const service = await startService(place, { program: join(installation, program), environment });
    expect((await service.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
    renameSync(join(installation, code), join(installation, "before"));

    const replies = [];
    for (const text of ["/grep a", "/write b.txt b"]) replies.push((await service.ask({ text })).reply?.text ?? "");

    expect(replies.join("\n")).toContain("the program was replaced or removed while it was running; restart it");
    expect(replies.join("\n")).not.toContain(installation);
    renameSync(join(installation, "before"), join(installation, code));
    expect((await service.stop()).code).toBe(0);
  });
}
