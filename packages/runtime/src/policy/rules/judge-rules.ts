import type { PolicyLayer, RuleOrigin } from "../facts.ts";
import { findRule } from "./rules.ts";
import type { CompiledRule } from "./rules.ts";
import { allow, confirm, deny } from "../verdict.ts";
import type { Subject, Verdict } from "../verdict.ts";

export function checkRules({ call, settings, rule }: Subject): Verdict | string {
  if (rule === undefined) return "No rule matches";
  return judge(rule, { layer: settings, toolName: call.tool.name, whose: "the configuration", prefix: "" });
}

/**
 * The rules of untrusted projects, checked last and applied only where they are stricter than the decision so far. A
 * rule that allows opens nothing: it only exempts the call from later rules of the same file.
 */
export function checkProjectRules(subject: Subject): Verdict | string {
  const { projects = NO_PROJECTS } = subject.settings;
  const said = projects.map((project) => judgeProject(project, subject));
  const verdicts = said.filter((each) => typeof each !== "string");
  const strictest = verdicts.find(({ effect }) => effect === "DENY") ?? verdicts[0];
  return strictest ?? said[0] ?? "No project restricts what the configuration allows";
}

const NO_PROJECTS: readonly PolicyLayer[] = [];

function judgeProject(project: PolicyLayer, { call, workspace }: Subject): Verdict | string {
  const rule = findRule(call, workspace.roots, project.configuration);
  if (rule === undefined) return "No rule of the project matches";
  if (rule.effect === "allow") return `The project's configuration allows it${placeOf(originOf(project, rule))}`;
  const whose = "the project's configuration";
  return judge(rule, { layer: project, toolName: call.tool.name, whose, prefix: "project_" });
}

function originOf({ origins }: PolicyLayer, { index }: CompiledRule): RuleOrigin | undefined {
  return origins?.[index];
}

/** " (/home/ann/.config/autonous/config.json, line 12)", or nothing. */
export function placeOf(origin: RuleOrigin | undefined): string {
  return origin === undefined ? "" : ` (${origin.file}, line ${origin.line})`;
}

interface RuleSource {
  readonly layer: PolicyLayer;
  readonly toolName: string;
  readonly whose: string;
  readonly prefix: string;
  /** The action and its target. Omitted: the whole call. */
  readonly about?: string;
}

export function judge(rule: CompiledRule, { layer, toolName, whose, prefix, about }: RuleSource): Verdict {
  const says = about ?? `${RULE_SAYS[rule.effect]} "${toolName}" here`;
  const reason = rule.reason ?? `A rule of ${whose} ${says}`;
  const verdict = MAKE[rule.effect](reason, prefix + rule.id);
  const origin = originOf(layer, rule);
  return origin === undefined ? verdict : { ...verdict, origin };
}

// oxfmt-ignore
const RULE_SAYS = {
  allow:   "allows",
  confirm: "requires approval for",
  deny:    "denies",
} as const satisfies Record<CompiledRule["effect"], string>;

const MAKE = {
  allow,
  confirm,
  deny: (reason, rule) => deny("ToolNotAllowed", reason, rule),
} as const satisfies Record<CompiledRule["effect"], (reason: string, rule: string) => Verdict>;
