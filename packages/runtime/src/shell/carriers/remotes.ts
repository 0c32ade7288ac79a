import type { OptionTable } from "../programs/options.ts";
import { optionValues, readArguments } from "../programs/options.ts";
import type { ShellWord } from "../parsed-shell.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { joinWords } from "./runner.ts";
import { runInput } from "./shells.ts";

const SSH = { short: "BbcDEeFIiJLlmOopQRSWw" };
const CONTAINER = {
  short: "ehlmpuvwcn",
  long: [
    "env",
    "env-file",
    "name",
    "volume",
    "mount",
    "workdir",
    "user",
    "network",
    "publish",
    "entrypoint",
    "label",
    "memory",
    "cpus",
    "platform",
    "hostname",
    "add-host",
    "container",
    "namespace",
    "context",
    "kubeconfig",
    "pod-running-timeout",
  ],
};

/** Commands on other machines or in containers. They are listed too, since containers share folders. */
// oxfmt-ignore
export const REMOTES: readonly (readonly [string, Unwrap])[] = [
  ["ssh",            unwrapSsh],
  ["mosh",           unwrapSsh],
  ["docker",         unwrapContainer],
  ["podman",         unwrapContainer],
  ["nerdctl",        unwrapContainer],
  ["docker-compose", unwrapContainer],
  ["kubectl",        unwrapContainer],
  ["oc",             unwrapContainer],
  ["lxc",            unwrapContainer],
  ["vagrant",        unwrapVagrant],
  ["machinectl",     unwrapContainer],
  ["buildah",        unwrapContainer],
];

function unwrapSsh({ words }: PlainCommand, runner: Runner): boolean {
  const { options, operands } = readArguments(words, SSH, { stopsEarly: true });
  for (const { value, ...word } of optionValues(options, "-o")) {
    const text = /^(?:Proxy|Local|KnownHosts)Command[= ](.*)$/is.exec(value)?.[1];
    if (text !== undefined) runner.runWord({ ...word, value: text });
  }
  const [, ...inner] = operands;
  const text = joinWords(inner);
  if (inner.length === 0) return runner.scope.input.kind === "none" ? false : runInput(runner);
  if (text === undefined) runner.opaque("what runs on the other machine is known only when it runs");
  else runner.runText(text);
  return true;
}

/** `docker exec NAME command`, `docker run IMAGE command`, `kubectl exec POD -- command`. */
function unwrapContainer({ words }: PlainCommand, runner: Runner): boolean {
  noteBuild(words, runner);
  const at = words.findIndex(({ value }, index) => index > 0 && index < 8 && /^(?:exec|run|shell)$/.test(value));
  if (at < 0) return false;
  const inner = commandOf(words.slice(at), CONTAINER);
  const [entry] = optionValues(readArguments(words.slice(at), CONTAINER, { stopsEarly: true }).options, "--entrypoint");
  runner.run(entry === undefined ? inner : [entry, ...inner]);
  return entry !== undefined || inner.length > 0;
}

const BUILDS = /^(?:build|bud|bake|up|create|deploy|config|kube|play)$/;

/** Code built from standard input or a URL is unknown until then. */
function noteBuild(words: readonly ShellWord[], runner: Runner): void {
  const at = words.findIndex(({ value }, index) => index > 0 && index < 8 && BUILDS.test(value));
  if (at < 0) return;
  const isInput = words.some(
    ({ value }, index) => index > 0 && (value === "-" || /^(?:-[fc]|--(?:file|compose-file)=)-$/.test(value)),
  );
  const isAddress = words.slice(at).some(({ value }) => /^(?:https?|git|ssh):\/\/|^git@|^github\.com\//.test(value));
  if (isInput) runner.opaque(`what ${runner.name} builds or starts is given by standard input`);
  else if (isAddress) runner.opaque(`what ${runner.name} builds or starts comes from elsewhere`);
}

function commandOf(words: readonly ShellWord[], table: OptionTable): readonly ShellWord[] {
  const dashes = words.findIndex(({ value }) => value === "--");
  if (dashes >= 0) return words.slice(dashes + 1);
  return readArguments(words, table, { stopsEarly: true }).operands.slice(1);
}

function unwrapVagrant({ words }: PlainCommand, runner: Runner): boolean {
  const texts = optionValues(readArguments(words, { short: "c", long: ["command"] }).options, "-c", "--command");
  for (const text of texts) runner.runWord(text);
  return texts.length > 0;
}
