import { redact } from "@autonous/runtime";
import type { Configuration } from "../../config/load.ts";
import { showSetting } from "../../config/settings.ts";
import type { SettingName } from "../../config/settings.ts";
import { checkAll } from "../checks/checks.ts";
import type { CheckResult } from "../checks/checks.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { checkWorkplace } from "../session/find-workplace.ts";
import type { Print } from "../output/print.ts";
import { table } from "../output/table.ts";

/** `autonous doctor`: all checks, and every setting with its source. */
export async function doctor(input: CommandInput): Promise<ExitCode> {
  const { print } = input;
  const place = checkWorkplace(input);
  if (input.options["fix"] === true) {
    const { installMissing } = await import("../checks/install.ts");
    for (const problem of await installMissing(place.roots, print)) print.note(`Cannot install ${problem}`);
  }
  const checks = await checkAll(place);
  const settings = listSettings(place.configuration);
  const ok = isHealthy(checks);
  if (print.json) print.document({ ok, checks, settings, ...filesOf(place.configuration) });
  const rows = settings.map(({ setting, value, source }) => [setting, value, source]);
  print.text(
    `${checkTable(checks, print)}\n\n${table([["SETTING", "VALUE", "FROM"], ...rows], { width: print.textWidth })}`,
  );
  return ok ? EXIT.done : EXIT.failed;
}

/** The files that were read, and their parts that are not in force. */
function filesOf({ files, refused }: Configuration): object {
  return {
    files: files.map(({ path, owner, trusted, read }) => ({
      path,
      owner,
      trusted,
      read: read !== undefined,
      sha256: read?.sha256 ?? null,
    })),
    refused,
  };
}

/** Only the checks, for `serve --check`. */
export function showChecks(checks: readonly CheckResult[], print: Print): void {
  if (print.json) print.document({ ok: isHealthy(checks), checks });
  print.text(checkTable(checks, print));
}

function isHealthy(checks: readonly CheckResult[]): boolean {
  return checks.every((check) => check.outcome !== "failed");
}

function checkTable(checks: readonly CheckResult[], { textWidth }: Print): string {
  return table(
    checks.map(({ check, outcome, message }) => [outcome, check, message]),
    { width: textWidth, fixed: 2 },
  );
}

interface ShownSetting {
  readonly setting: string;
  /** Secrets masked. */
  readonly value: string;
  readonly source: string;
}

function listSettings({ settings, sources }: Configuration): readonly ShownSetting[] {
  return (Object.keys(settings) as SettingName[]).map((setting) => ({
    setting,
    value: redact(showSetting(setting, settings[setting])).text,
    source: sources[setting],
  }));
}
