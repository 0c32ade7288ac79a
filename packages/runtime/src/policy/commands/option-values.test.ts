import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { judgeCommands } from "./check-command.ts";
import type { CommandLevel } from "./check-command.ts";
import { permissionsOfText } from "./command-permissions.ts";

const GROUND = { roots: ["/home/dev/project"], home: "/home/dev" };

function levelOf(command: string): CommandLevel {
  return judgeCommands(parseCommands(command), GROUND).level;
}

/** The value of an option before the subcommand is not the subcommand. */
// oxfmt-ignore
const DANGEROUS = [
  "npm --prefix x publish", "npm --prefix x exec -c 'rm -rf /'", "npm --prefix x x -c 'rm -rf /'", "npm -C x publish", "npm --unheard of publish", "npm --workspace a unpublish x", "npm exec --prefix x -- rm -rf /", "npm explore --prefix x a -- rm -rf /",
  "pnpm --dir x publish", "pnpm -F a exec rm -rf /", "pnpm --dir exec exec rm -rf /", "yarn --cwd x npm publish", "yarn --mutex network publish", "bun --cwd x publish", "bun --cwd x x rm -rf /", "deno --log-level debug publish",
  "cargo --manifest-path a/Cargo.toml publish", "cargo +nightly publish", "cargo --config a=b yank", "docker --tlscert c push y", "docker compose -f a.yml down", "docker --log-level debug compose --profile x down -v", "docker compose --unheard of rm", "podman --url x push y",
  "kubectl -v 6 delete pod x", "kubectl --request-timeout 5 delete x", "kubectl -n dev exec x -- rm -rf /", "gh -R a/b pr merge 1", "gh pr -R a/b merge", "helm --kube-context c uninstall y", "git --attr-source x push", "pip --log f uninstall --break-system-packages x",
  "terraform -chdir x apply", "poetry -C x publish", "uv --directory x run rm -rf /", "dnf -c x install y", "systemctl --root / disable x", "pulumi --cwd x destroy", "gradle --project-dir x publish", "mvn --file x deploy", "hg --cwd x push", "jj -R x git push",
];

test.each(DANGEROUS)("%s is asked for or denied", (command) => {
  expect(["everyday", "undoable"]).not.toContain(levelOf(command));
});

// oxfmt-ignore
const EVERYDAY = [
  "npm --prefix web install", "npm --prefix publish test", "npm --silent run publish", "npm -s run publish", "npm --loglevel error test", "npm test --prefix publish", "pnpm --filter publish test", "yarn --cwd publish test", "docker compose -f a.yml ps",
  "docker --context push ps", "kubectl -n delete get pods", "kubectl --namespace apply get pods", "git -C push status", "cargo --manifest-path publish/Cargo.toml test", "cargo +nightly test", "gh -R a/b pr view 1", "uv --project publish sync", "go -C mod test ./...", "terraform -chdir=x plan",
];

test.each(EVERYDAY)("%s is everyday work", (command) => {
  expect(levelOf(command)).toBe("everyday");
});

/** What a program needs follows its subcommand, not the value of an option. */
// oxfmt-ignore
const NETWORK: readonly (readonly [command: string, asks: boolean])[] = [
  ["npm --prefix x install", true], ["npm --unheard x install", true], ["npm --prefix install test", false], ["npm", true], ["npm --silent", true], ["pip --proxy x install y", true], ["cargo --config a=b test", false], ["cargo +nightly install x", true], ["go -C sub get x", true],
];

test.each(NETWORK)("whether %s asks the network: %s", (command, asks) => {
  expect(permissionsOfText(parseCommands(command)).uses.has("net.connect")).toBe(asks);
});
