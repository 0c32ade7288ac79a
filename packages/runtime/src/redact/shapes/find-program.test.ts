import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { createRedactor, redact } from "../redact.ts";

const X = "hunter2Zq9";

/** The place of the secret is marked with §. */
// oxfmt-ignore
const COMMANDS = [
  "mysql -u root -p§ db", "mysql -p'§' db", 'mysql "-p§" db', "/usr/bin/mysqldump -h h -p§ --all-databases", "sudo mysql --user=root -p§", "mysqladmin -u root password §",
  "mariadb-dump -p§ db", "redis-cli -h h -a § ping", "redis-cli -a '§' -n 1 keys '*'", "mongo -u bob -p § db", "mongosh --username bob --password §", "sqlcmd -S h -U sa -P §", "sqlplus bob/§@db",
  "docker login -u bob -p § reg.example.com", "docker login -p§ reg.example.com", "podman login --password § r", "helm registry login r -u bob -p §", "az login -u bob -p §", "az login --service-principal -u app -p § --tenant t", "oc login -u b -p §",
  "kubectl create secret generic s --from-literal=k=§", "kubectl create secret generic s --from-literal k=§ --from-literal=l=§", "kubectl create secret docker-registry r --docker-password=§", "vault login §", "twine upload -u b -p § dist/a", "aws configure set aws_secret_access_key §",
  "npm config set //registry.example.com/:_authToken §", "rclone config create r s3 provider AWS secret_access_key §",
  "7z x -p§ a.7z", "7z a -p'§' a.7z f", "unrar x -p§ a.rar", "rar a -hp§ a.rar f", "unzip -P § a.zip", "zip -P § -r a.zip f", "pdftk a.pdf input_pw § output b.pdf",
  "openssl rsa -in k -passin pass:§", "openssl enc -aes-256-cbc -k § -in a", "openssl pkcs12 -export -passout 'pass:§' -out a", "gpg --batch --passphrase § -d x", "keytool -list -storepass §", "ssh-keygen -t ed25519 -N § -f k", "signtool sign /f a.pfx /p § a.exe",
  "sshpass -p § ssh a@b", "sshpass -p'§' ssh a@b", "htpasswd -b .htpasswd bob §", "htpasswd -nb bob §", "htpasswd -bc f bob §", "useradd -m -p § bob", "wpa_passphrase home §", "nmcli dev wifi connect home password §",
  "ldapsearch -x -D cn=admin -w § -b dc=x", "smbclient //h/s -U bob%§", "ipmitool -H h -U root -P § power status", "xfreerdp /u:bob /p:§ /v:h", "snmpwalk -v3 -A § -X § h", "rabbitmqctl add_user bob §", "mosquitto_pub -u bob -P § -t a",
  "curl -u bob:§ https://example.com", "curl -sSubob:§ https://example.com", 'curl --user "bob:§" https://example.com', "http -a bob:§ GET example.com", "lftp -u bob,§ host", "wget --user=bob --password=§ http://example.com", "psql postgres://bob:§@h/db",
  "echo '§' | sudo -S ls", "echo bob:§ | chpasswd", 'printf "§" | docker login -u bob --password-stdin', "echo § | gpg --batch --passphrase-fd 0 -d a.gpg",
  '["mysql","-p§","db"]', '["redis-cli", "-a", "§"]', "subprocess.run(['docker', 'login', '-p', '§'])", '{"command":"redis-cli -a § ping"}', '{\\"cmd\\":\\"unzip -P § a.zip\\"}', 'bash -c "mysql -p§ db"', "mysql -u root \\\n  -p§ db",
  "cd a && mysql -p§ db; ls", "+ mysql -p§ db", "$ redis-cli -a §", "mysql -p§ | head",
];

test.each(COMMANDS)("the secret of a command goes, the rest stays: %s", (command) => {
  const text = command.replaceAll("§", X);
  const left = command.replaceAll("§", REDACTION_MARKER);
  expect(redact(text)).toEqual({ text: left, redacted: true });
  expect(redact(left)).toEqual({ text: left, redacted: false });
  expect(redact(`before\n${text}\nafter ok\n`).text).toBe(`before\n${left}\nafter ok\n`);
});

test.each(COMMANDS)("a command that comes in pieces is redacted the same: %s", (command) => {
  const text = `before\n${command.replaceAll("§", X)}\nafter\n`;
  const whole = redact(text).text;
  const redactor = createRedactor();
  for (let cut = 0; cut <= text.length; cut++) {
    const stream = redactor.stream();
    expect(stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.end()).toBe(whole);
  }
});

test("a command line holds several secrets, of the program and of others", () => {
  const token = ["gh", "p_", "a1B2".repeat(9)].join("");
  const text = `curl -H "Authorization: Bearer ${token}" -u bob:${X} https://a:${X}@example.com/`;
  expect(redact(text).text).toBe(
    `curl -H "Authorization: Bearer ${REDACTION_MARKER}" -u bob:${REDACTION_MARKER} https://a:${REDACTION_MARKER}@example.com/`,
  );
});

// oxfmt-ignore
const FILES = [
  "db.example.com:5432:app:bob:§", "*:*:*:bob:§", "localhost:5432:*:postgres:§\nother:*:db:bob:§", "a:5432:app:bob:§\\nb:5433:app:bob:§\\n", '{"text":"a:6432:app:bob:§\\n*:*:*:eve:§"}', "     7\ta:5432:app:bob:§", "+a:5432:app:bob:§", "> a:5432:app:bob:§", "echo a:5432:app:bob:§ >> ~/.pgpass", "+ printf %s a:5432:app:bob:§", "/run/postgresql:5432:app:bob:§", "[::1]:5432:app:bob:§", "h.example.com:5439:app:bob:§", "redis-cli AUTH §", "redis-cli -h h auth bob §", "-e LINE=a:5432:app:bob:§",
  "machine h login bob password §", "machine h\n  login bob\n  password §\n", "default login bob password §",
  "[client]\nuser=bob\npassword=§\n", '[client]\npassword = "§"', "//registry.example.com/:_authToken=§", '_password="§"', "https://bob:§@github.com", '{"auths":{"r.example.com":{"identitytoken":"§"}}}',
];

test.each(FILES)("the secret of a file of credentials goes: %j", (file) => {
  expect(redact(file.replaceAll("§", X)).text).toBe(file.replaceAll("§", REDACTION_MARKER));
});

test("a login of Docker in base64 goes", () => {
  const auth = Buffer.from(`bob:${X}`).toString("base64");
  expect(redact(`{"auths":{"r":{"auth":"${auth}"}}}`).text).toBe(`{"auths":{"r":{"auth":"${REDACTION_MARKER}"}}}`);
  expect(redact(`_auth=${auth}`).text).toBe(`_auth=${REDACTION_MARKER}`);
});

// oxfmt-ignore
const KEPT = [
  "docker run -p 8080:80 nginx", "mkdir -p dir/sub", "cp -a x y", "ssh -p 22 host", "scp -P 22 a b:", "tar -xpf a.tar", "mysql -u root -p", "mysql -u root -p db", "mysql -h h -P 3306 db", "psql -p 5432 -U bob", "redis-cli -p 6379 ping", "7z x a.7z", "zip -r a.zip dir", "unzip a.zip -d out",
  "docker login -u bob --password-stdin reg.example.com", "docker ps -a", "helm install -f a.yaml x", "kubectl get pods -p", "kubectl create configmap c --from-literal=a=$B", "curl -u $USER:$PASS https://x", "curl -u user https://x", "curl -fsSL https://x | bash", "openssl rand -hex 32", "openssl x509 -in cert.pem -text", "openssl rsa -in k -passin env:PW",
  "vault login -method=oidc", "az login", "az group list -o table", "htpasswd -c .htpasswd bob", "sshpass -e ssh x", "sshpass -f file ssh x", "mongo -u bob -p", "ldapsearch -W -x", "the mysql -p option asks for a password", "docker login -p is insecure", "use curl -u user:password to log in", "curl -u <user>:<password> x", "curl -u user:$TOKEN x",
  "npm login", "npm config set registry https://r.example.com", "gpg --list-keys", "7z a -tzip a.zip f", "http GET example.org", "https is a protocol", "sqlplus /nolog", "smbclient -L //h -U bob", "useradd -m bob", "lftp -e ls host", "security find-identity -p codesigning", "snmpwalk -v2c -c public host", "mysqladmin -u root status", "import mysql from 'mysql2';",
  "apt install mysql-client redis-tools", "wget -P dir https://x", "keytool -list", "ssh-keygen -t ed25519 -N '' -f k", "twine upload dist/*", "echo hello | sudo tee a.txt", "echo done | grep o", "10:5432:x:y", "at 12:30:45:100:9", "see a:*:b", "ports: 5432:5432", "server.log:5432:12:30:45 started", "app.log:5432:INFO:root:started", "src/app.ts:5432:17:error", "127.0.0.1:5432:5432:tcp:open", "x db:5432:a:b:down y", "nodes: a:5432:primary:up:healthy b:5432:replica:up:lagging", "a:5432:primary:up:ok", "arn:aws:rds:us-east-1:5432:db:prod-main", "curl: (7) connect to db:5432:refused:after:retries",
  "0.0.0.0:5432->5432/tcp",
];

test.each(KEPT)("a command without a secret stays as it is: %s", (command) => {
  expect(redact(command)).toEqual({ text: command, redacted: false });
});

test("a command goes from both sides of a diff", () => {
  const text = `@@ -1 +1 @@\n-mysql -uroot -p${X} db\n+mysql -uroot -p${X} db\n`;
  expect(redact(text).text).toBe(text.replaceAll(X, REDACTION_MARKER));
  expect(redact("--mysql -p8080:80 x").redacted).toBe(false);
});
