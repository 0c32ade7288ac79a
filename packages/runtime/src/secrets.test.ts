import { expect, test } from "vitest";
import { secretsOf } from "./secrets.ts";

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

test("the path of a file with secrets is none", () => {
  expect(
    secretsOf({ GOOGLE_APPLICATION_CREDENTIALS: "/home/ada/keys/service.json", TLS_PRIVATE_KEY: "./certs/server.key" }),
  ).toEqual([]);
});
