import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { redact } from "../redact.ts";

/** Texts with their secrets between « and »: what has to go, and nothing else. */
const MARKED = /«([^»]*)»/g;

function check(marked: string): void {
  const text = marked.replaceAll(MARKED, "$1");
  expect(redact(text).text).toBe(marked.replaceAll(MARKED, REDACTION_MARKER));
}

// oxfmt-ignore
const ENVIRONMENT = [
  "GITHUB_TOKEN=«abcd1234efgh»",
  "export DB_PASSWORD=«hunter2»",
  "export API_TOKEN='«s3cr3t value with spaces»'",
  'MYSQL_ROOT_PASSWORD="«my-secret-pw»"',
  "POSTGRES_PASSWORD=«supersecret»",
  "SESSION_SECRET=«correcthorsebatterystaple»",
  "STRIPE_KEY=«abcdefgh»",
  "DEPLOY_KEY=«canary-value-0042»",
  "SOME_SERVICE_KEY=«plainword»",
  "AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/K7MDENG/bPxRfiCYnotreal00»",
  "OTP_SECRET=«123456»",
  "PIN_TOKEN=«9182736»",
  "DB_PASS=«p@ss;w0rd&more,and)more»",
  "PGPASSWORD=«letmein» psql -h db",
  "MYSQL_PWD=«letmein»",
  "ROOT_PW=«letmein»",
  "API_KEY_PROD=«abcd-efgh»",
  "PASSWORD_2=«abcdefg»",
  "TOKEN_STAGING=«abcdefg»",
  "GITHUB_PAT=«a1b2c3d4e5f6g7h8»",
  "KEYSTORE_PASSWORD=«changed-it»",
  "ENCRYPTION_KEY=«3f9a1c7e5b2d80463f9a1c7e5b2d8046»",
  "NPM_AUTH=«a1b2c3d4e5f6g7h8»",
  "HTTP_AUTH=«user:passw0rd»",
  "SERVICE_CREDENTIALS=«user:passw0rd»",
  "  INDENTED_TOKEN=«abcdefg»",
  "env FOO=1 MY_TOKEN=«abcdefg» node main.js",
  "docker run -e POSTGRES_PASSWORD=«abc,def» -p 80:80 postgres",
  "FOO=bar; export MY_TOKEN=«abcdefg»; echo done",
  "set MY_TOKEN=«abcdefg»",
  "setx MY_TOKEN «abcdefg»",
  "setenv MY_TOKEN «abcdefg»",
  "$env:MY_TOKEN = \"«abcdefg»\"",
  "12: MY_TOKEN=«abcdefg»",
  "config/.env:3:MY_TOKEN=«abcdefg»",
  "+MY_TOKEN=«abcdefg»",
  "-MY_TOKEN=«abcdefg»",
  "# MY_TOKEN=«abcdefg»",
  "ENV MY_TOKEN «abcdefg»",
  "ENV MY_TOKEN=«abcdefg»",
  "ARG NPM_TOKEN=«abcdefg»",
  "A=1\r\nMY_TOKEN=«abcdefg»\r\nB=2",
  "MY_TOKEN=«ab$cdefg»",
  'MY_SECRET="«line one 1\nline two 2»"\nNEXT=1',
  "MY_SECRET='«line one 1\nline two 2\n»'\n",
  "MY_S3_BUCKET_2_TOKEN_3=«abcdefg»",
  "DB_PASSWORD=«yourdog77»",
  "DB_PASSWORD=«settled-it»",
  "DB_PASSWORD=«Pa$$[word»",
  "DB_PASSWORD=«abc(def»",
  "DB_PASSWORD=«/abc123»",
  "DB_PASSWORD=«#abc!123»",
  "DB_PASSWORD=«12345678d»",
  "DB_PASSWORD=«1.2-s3cr3t»",
  "TOKEN=«$ecr3t!»",
] as const;

// oxfmt-ignore
const JSON_TEXT = [
  '{"apiKey": "«abc123»"}',
  '{"password":"«hunter2»","user":"bob"}',
  '{"client_secret" : "«abcdefg»"}',
  '{"access_token":"«abcdefg»","expires_in":3600,"token_type":"bearer"}',
  '{"password": «12345678»}',
  '{"refreshToken":"«1/fFAGRNJru1FTz70BzhT3Zg»"}',
  '{"db": {"PASSWORD": "«odd \\"quotes\\" ins1de»"}}',
  '{"private_key": "«abc/def+ghi==»"}',
  '{"secretAccessKey":\n  "«abcdefg»"}',
  '"{\\"token\\":\\"«abcdefg»\\"}"',
  '"{\\"token\\": \\"«abcdefg»\\", \\"id\\": 3}"',
  '"{\\\\\\"token\\\\\\":\\\\\\"«abcdefg»\\\\\\"}"',
  '{"args":["--token","«abcdefg»"]}',
  '{"args":["--user","bob","--password", "«abcdefg»","--force"]}',
  '{"name":"DB_PASSWORD","value":"«abcdefg»"}',
  '{"name": "API_TOKEN", "value": "«abcdefg»"},',
  '{"cmd":"export MY_TOKEN=«abcdefg»\\nls"}',
  '{"log":"a\\nDB_PASSWORD=«abcdefg»\\nb"}',
  '{"log":"a\\napi_key: «abcdefg»\\nb"}',
  "{'password': '«abcdefg»'}",
  "{ password: '«abcdefg»' }",
  '{"passwords": ["«abcdefg»", "«hijk lmn»"], "n": 1}',
  '{"Env": ["PATH=/bin", "DB_PASSWORD=«hunter2»", "A=1"]}',
  '{"auths":{"https://index.example.io/v1/":{"auth":"«dXNlcjpwYXNz»"}}}',
  '{"accounts":[{"secret":"«abcdefg»"},{"secret":"«hijklmn»"}]}',
] as const;

// oxfmt-ignore
const CONFIGURATION = [
  "password: «hunter2»",
  "password: «secret»",
  "password: \"«$ecret123»\"",
  "password = «#xyz123!»",
  "<password><![CDATA[«hunter2]]>»</password>",
  "password: «correct horse battery staple»",
  "  secret_key: «abcdefg»",
  "db_password: '«it''s s3cret»'",
  'api_key: "«abcdefg»"',
  "- token: «abcdefg»",
  "auth_token: «abcdefg»   # for the build",
  "password: «hunter2» # rotate soon",
  "password: «p4ss:word»",
  "DB_PASSWORD: «abcdefg»",
  "env:\n  - name: DB_PASSWORD\n    value: «abcdefg»\n  - name: PORT\n    value: 80",
  "env:\n  - name: DB_PASSWORD\n    value: \"«abcdefg»\"",
  "password: |\n  «line one\n  line two»\nuser: bob",
  "a:\n  private_key: |-\n    «abc\n    def\n\n    ghi»\n  other: 1",
  "secret: >\n  «folded text 1»\n",
  "data:\n  password: «cGFzc3dvcmQ=»",
  "secret: !!binary «MjNjcnh1IDJieXJpdXYy»",
  "{user: bob, password: «hunter2»}",
  "password = \"«hunter2»\"",
  "token = '«abcdefg»'",
  "[db]\npassword = «hunter2»\nuser = bob",
  "password=«hunter2»",
  "aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYnotreal00»",
  "aws_secret_access_key = «/JalrXUtnFEMIK7MDENG/bPxRfiCYnotreal00»",
  "api_key = \"\"\"«abc\ndef»\"\"\"",
  "password = '''«abcdefg»'''",
  "private_key = \"\"\"\n«line one\nline two\n»\"\"\"",
  "spring.datasource.password=«hunter2»",
  "//registry.npmjs.org/:_authToken=«abcdefg»",
  "_auth=«dXNlcjpwYXNzd29yZA==»",
  "machine api.example.com login bob password «hunter2»",
  "machine api.example.com\n  login bob\n  password «hunter2»\n",
  "requirepass «hunter2»",
  "<password>«hunter2»</password>",
  "<add key=\"ApiKey\" value=\"«abcdefg»\" />",
  "<string name=\"api_key\">«abcdefg»</string>",
  "<key>API_KEY</key>\n<string>«abcdefg»</string>",
  "Server=db;Database=app;User Id=sa;Password=«Str0ng!pass»;Encrypt=true",
  "Server=db;Uid=sa;Pwd=«myPassword»;",
  "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=«abc/def+ghi==»;EndpointSuffix=core",
  "Endpoint=sb://a.example.net/;SharedAccessKeyName=root;SharedAccessKey=«abc/def+ghi=»",
  "ALTER USER bob WITH PASSWORD '«hunter2»';",
  "CREATE USER 'bob'@'%' IDENTIFIED BY '«hunter2»';",
  "passphrase: «open sesame now»",
  "密码：«hunter2»",
  "api_keys = [\"«abcd1234»\", '«efgh5678»']",
  "| DB_PASSWORD | «s3cr3t-cell» |",
  "Content-Disposition: form-data; name=\"password\"\r\n\r\n«hunter2»\r\n--x",
  "$p = ConvertTo-SecureString \"«hunter2»\" -AsPlainText -Force",
  "client-key-data: «a1b2C3d4E5f6G7h8»",
  "SECRET_KEY = '«django-insecure-abc»'",
  "secret_key_base: «abcdefg»",
  "**Password:** «hunter2»",
  "API key: «abcdefg»",
  "Access token: «abc12345»",
] as const;

// oxfmt-ignore
const COMMANDS = [
  "gh auth login --token «abcdefg»",
  "tool --password=«hunter2» --verbose",
  "tool --password '«hunter 2»' run",
  "tool --api-key \"«abcdefg»\"",
  "tool --client-secret «abcdefg» --client-id 7",
  "tool -token «abcdefg1»",
  "keytool -storepass «abcdefg» -alias x",
  "tool --token \\\n  «abcdefg» \\\n  --other",
  "openssl rsa -in k.pem -passin pass:«hunter2»",
  "sshpass -p «hunter2» ssh bob@host",
  "curl -u bob:«hunter2» https://example.com",
  "curl --user 'bob:«hunter2»' https://example.com",
  "curl -H 'X-Api-Key: «abcdefg»' https://example.com",
  "curl -H \"Authorization: Bearer «abcdefg»\" https://example.com",
  "curl -d 'user=bob&password=«hunter2»&go=1' https://example.com",
  "curl --data-urlencode token=«abcdefg» https://example.com",
  "kubectl create secret generic x --from-literal=password=«hunter2»",
  "aws configure set aws_secret_access_key «abc/def+ghi»",
  "helm install x --set auth.password=«hunter2»,auth.user=bob",
  "terraform apply -var 'db_password=«hunter2»'",
  "vault kv put secret/app password=«hunter2»",
  "mysql --host=db --password=«hunter2» app",
  "tool --cookie \"session=«abcdefgh1234»; theme=dark\"",
] as const;

// oxfmt-ignore
const WIRE = [
  "Authorization: Bearer «abcdefg»",
  "Authorization: Basic «dXNlcjpwYXNz»",
  "authorization: token «abcdefg»",
  "Authorization: «raw-value-1»",
  "Proxy-Authorization: Basic «dXNlcjpwYXNz»",
  "{\"authorization\":\"Bearer «abcdefg»\"}",
  "got Bearer «a1b2c3d4e5f6» from the header",
  "sent Basic «dXNlcjpwYXNzd29yZA==» again",
  "X-Api-Key: «abcdefg»",
  "x-auth-token: «abcdefg»",
  "X-Vault-Token: «abcdefg»",
  "PRIVATE-TOKEN: «abcdefg»",
  "Cookie: session=«abcdef123456»; theme=dark",
  "Set-Cookie: sid=«s%3Aabcdef123456»; Path=/; HttpOnly",
  "Cookie: PHPSESSID=«abcdef123456»; _csrf=«abcdefg»",
  "{\"cookie\":\"connect.sid=«abcdef123456»; lang=en\"}",
  "{\"set-cookie\":[\"sid=«abcdef123456»; Path=/\"]}",
  "https://example.com/cb?access_token=«abcdefg»&state=xyz",
  "https://example.com/cb#access_token=«abcdefg»&token_type=bearer",
  "https://maps.example.com/js?key=«a1b2c3d4e5f6g7h8»&v=3",
  "postgres://bob:«hunter2»@db.example.com:5432/app",
  "redis://:«hunter2»@cache:6379/0",
  "https://bob:«p@ss»@example.com/x",
  "mongodb+srv://bob:«p%40ss»@c.example.net/app?retryWrites=true",
  "amqp://bob:«hun/ter2»@mq/",
  "https://x-access-token:«abcdefg»@github.com/a/b.git",
  "https://«a1b2c3d4e5f6a1b2c3d4e5f6»@github.com/a/b.git",
  "%22token%22%3A%22«abcdefg»%22%7D",
  "body=password%3D«hunter2»%26user%3Dbob",
  "2026-01-01 10:00:00 INFO login user=bob password=«hunter2» ok=false",
  "level=debug token=«abcdef1» msg=\"sent\"",
  "connecting with password: «hunter2», user: bob",
  "\u001b[33mtoken\u001b[0m: \u001b[32m«abcdef1»\u001b[0m",
] as const;

// oxfmt-ignore
const SOURCE_CODE = [
  "const token = \"«abcdefg»\";",
  "const token =\n    \"«abcdefg»\";",
  "let apiKey: string = '«abcdefg»';",
  "password: str = \"«hunter2»\"",
  "var token string = \"«abcdefg»\"",
  "const TOKEN: &str = \"«abcdefg»\";",
  "char password[] = \"«hunter2»\";",
  "char password[32] = \"«hunter2»\";",
  "$config['db_password'] = '«hunter2»';",
  "process.env[\"MY_TOKEN\"] = \"«abcdefg»\";",
  "os.environ[\"MY_TOKEN\"] = \"«abcdefg»\"",
  "define('DB_PASSWORD', '«hunter2»');",
  "headers.set(\"X-Api-Key\", \"«abcdefg»\");",
  "'password' => '«hunter2»',",
  ":password => \"«hunter2»\"",
  "{:password \"«hunter2»\"}",
  "connect(user=\"bob\", password=\"«hunter2»\")",
  "if (password === \"«hunter2»\") {",
  "config.setPassword(\"«hunter2»\");",
  "builder.password(\"«hunter2»\")",
  "api_key <- \"«abcdefg»\"",
  "token := \"«abcdefg»\"",
  "token ||= '«abcdefg»'",
  "private static final String API_KEY = \"«abcdefg»\";",
  "secret = b\"«abcdefg»\"",
  "password = @\"«hunter2»\";",
  "#define API_TOKEN \"«abc-4567-def»\"",
] as const;

const FORMS = { ENVIRONMENT, JSON_TEXT, CONFIGURATION, COMMANDS, WIRE, SOURCE_CODE };

for (const [form, texts] of Object.entries(FORMS)) {
  test.each(texts)(`${form}: %s`, (marked) => {
    check(marked);
  });
}

test("a value is redacted with names of every spelling", () => {
  const names = ["api_key", "apiKey", "ApiKey", "API_KEY", "api-key", "APIKEY", "apikey", "my.api.key", "X-API-KEY"];
  const more = ["clientSecret", "client-secret", "CLIENT_SECRET", "accessToken", "access-token", "ACCESS_TOKEN"];
  const rest = [
    "dbPassword",
    "db-password",
    "DBPassword",
    "userPasswd",
    "PASSPHRASE",
    "privateKey",
    "awsSecretAccessKey",
  ];
  for (const name of [...names, ...more, ...rest]) {
    for (const form of [`${name}=«v4lue-x»`, `"${name}": "«v4lue-x»"`, `${name}: «v4lue-x»`, `--${name} «v4lue-x»`]) {
      check(form);
    }
  }
});

test("a value that is longer than what is read to decide goes as a whole", () => {
  const long = "aB3/".repeat(5000);
  check(`MY_TOKEN=«${long}»\nNEXT=1`);
  check(`{"password":"«${long}»","next":1}`);
  check(`password: |\n  «${long}\n  ${long}»\nnext: 1`);
  check(`{"authorization":"Bearer «${long}»"}`);
});
