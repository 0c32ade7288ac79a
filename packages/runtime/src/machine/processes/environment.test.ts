import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { commandEnvironment } from "./environment.ts";

test("a command gets the usual variables and nothing else", () => {
  const { variables } = commandEnvironment(
    { PATH: "/bin", HOME: "/home/me", LC_ALL: "C", LC_MY_TOKEN: "t", DATABASE_URL: "x", EDITOR: "vi", TERM: "xterm" },
    { pass: [] },
  );

  expect(variables).toEqual({
    PATH: "/bin",
    HOME: "/home/me",
    LC_ALL: "C",
    LANGUAGE: "en",
    TERM: "xterm",
    LC_CTYPE: "C.UTF-8",
  });
});

test("the user's locale is kept, except for messages, which hints rely on", () => {
  const own = { LANG: "de_DE.UTF-8", LANGUAGE: "de:fr", PATH: "/bin" };
  expect(commandEnvironment(own, { pass: [] }).variables).toEqual({
    PATH: "/bin",
    LANG: "de_DE.UTF-8",
    LANGUAGE: "en",
  });
  expect(commandEnvironment(own, { pass: ["LANGUAGE"] }).variables).toMatchObject({ LANGUAGE: "de:fr" });
});

// oxfmt-ignore
const SECRETS = ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "API_KEY", "NPM_AUTH", "SSH_KEY", "TOKEN", "my_secret", "LC_SECRET"];

for (const name of SECRETS) {
  test(`${name} passes only if it is listed`, () => {
    const own = { [name]: "value", PATH: "/bin" };

    expect(commandEnvironment(own, { pass: [] }).variables).not.toHaveProperty(name);
    expect(commandEnvironment(own, { pass: [name] }).variables).toMatchObject({ [name]: "value" });
    expect(commandEnvironment(own, { pass: ["*", "OTHER"] }).variables).not.toHaveProperty(name);
  });
}

test("variables that affect the starting program are set only inside", () => {
  const environment = commandEnvironment(
    { LD_PRELOAD: "x.so", BASH_ENV: "x.sh" },
    { pass: ["LD_PRELOAD", "BASH_ENV"] },
  );

  expect(environment.inside_only).toEqual({ LD_PRELOAD: "x.so" });
  expect(environment.variables).toEqual({ PATH: expect.any(String), LC_CTYPE: "C.UTF-8" });
});

test("in a sandbox the home is private, and tools of the real home are still found", async () => {
  const { path, make } = await scratchFolder();
  await make({ ".gitconfig": "", ".rustup/": "" });
  const { variables } = commandEnvironment({ HOME: path, TMPDIR: "/var/tmp" }, { pass: [], sandbox_home: "/tmp/home" });

  expect(variables).toMatchObject({ HOME: "/tmp/home", TMPDIR: "/tmp", RUSTUP_HOME: `${path}/.rustup` });
  expect(variables).not.toHaveProperty("GIT_CONFIG_GLOBAL");
  expect(variables).not.toHaveProperty("NVM_DIR");
});
