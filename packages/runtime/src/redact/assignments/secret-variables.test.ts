import { expect, test } from "vitest";
import { isSecretVariable, secretsOf } from "./secret-variables.ts";

test("values of variables that are named like secrets are secrets, whatever they look like", () => {
  const secrets = {
    GITHUB_TOKEN: "one",
    db_password: "two",
    MY_API_KEY: "three",
    APIKEY: "four",
    SIGNING_KEY: "five",
    CLIENT_SECRET: "a/b/c",
  };
  expect(secretsOf({ ...secrets, HOME: "/home/ada", KEYBOARD: "us", MONKEY: "x", EMPTY_TOKEN: undefined })).toEqual(
    Object.values(secrets),
  );
});

// oxfmt-ignore
const NAMES = [
  { is: true,  names: ["TOKEN", "GITHUB_TOKEN_2", "dbPassword", "AWS_SECRET_ACCESS_KEY", "NPM_AUTH", "GITHUB_PAT", "SSH_KEYS", "KEY", "DB_PWD"] },
  { is: false, names: ["PWD", "OLDPWD", "PATH", "KEYBOARD", "XAUTHORITY", "SSH_AUTH_SOCK", "AUTHOR", "LC_ALL", "HOTKEY", ""] },
];

for (const { is, names } of NAMES) {
  test(`${names.join(", ")}: ${is ? "named" : "not named"} like secrets`, () => {
    expect(names.filter((name) => isSecretVariable(name) !== is)).toEqual([]);
  });
}

test("the path of a file with secrets is not a secret", () => {
  expect(
    secretsOf({ GOOGLE_APPLICATION_CREDENTIALS: "/home/ada/keys/service.json", TLS_PRIVATE_KEY: "./certs/server.key" }),
  ).toEqual([]);
});
