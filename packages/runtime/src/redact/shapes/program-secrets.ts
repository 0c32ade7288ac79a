/** Where a program accepts a secret on its command line. */
export interface ProgramOption {
  /** Names of programs, without their folder. */
  readonly programs: readonly string[];
  /** Only after this subcommand, as in `docker login`. */
  readonly command?: string;
  /** Only if an option matches: `htpasswd -b`. */
  readonly when?: RegExp;
  /**
   * Options whose value is the secret. `-p` and `--pass` take the next word, or the text after "="; `-p*` takes the
   * rest of its own word; `~p` either, possibly after other letters: `-sSp x`. None: a separate word, by `place`.
   */
  readonly options: readonly string[];
  /** Selects the secret among the words that are neither options nor the command. */
  readonly place?: "first" | "second" | "last" | "each";
  /** The secret is the text after this in the value: `user:password`. */
  readonly after?: string;
}

function words(list: string): readonly string[] {
  return list.trim().split(/\s+/);
}

const MYSQL = words(`mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlpump mysqlbinlog mysqlslap mysqlsh
  mariadb mariadb-dump mariadb-admin mycli`);

/** From each program's manual. Long options named like secrets (`--password x`) need no row. */
// oxfmt-ignore
const PROGRAM_OPTIONS: readonly ProgramOption[] = [
  // Databases and queues
  { programs: MYSQL,                                              options: ["-p*"] },
  { programs: words("mysqladmin"),         command: "password",   options: [], place: "last" },
  { programs: words("redis-cli valkey-cli keydb-cli redis-benchmark"), options: ["-a"] },
  { programs: words("redis-cli valkey-cli keydb-cli"), command: "AUTH", options: [], place: "last" },
  { programs: words("redis-cli valkey-cli keydb-cli"), command: "auth", options: [], place: "last" },
  { programs: words("mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop mongofiles"), options: ["-p", "-p*"] },
  { programs: words("sqlcmd bcp osql"),                           options: ["-P", "-P*"] },
  { programs: words("isql isql-fb gbak gsec"),                    options: ["-pas", "-pass", "-p"] },
  { programs: words("sqlplus rman expdp impdp sqlldr"),           options: [], place: "first", after: "/" },
  { programs: words("cqlsh clickhouse-client trino influx vsql snowsql usql"), options: ["-p", "-w"] },
  { programs: words("rabbitmqctl"),        command: "add_user",   options: [], place: "last" },
  { programs: words("rabbitmqctl"),        command: "change_password", options: [], place: "last" },
  { programs: words("rabbitmqadmin"),                             options: ["-p"] },
  { programs: words("mosquitto_pub mosquitto_sub mosquitto_rr"),  options: ["-P"] },
  { programs: words("mosquitto_passwd"),   when: /^-[a-z]*b/,     options: [], place: "last" },
  { programs: words("kcat kafkacat"),                             options: ["-X"], after: "sasl.password=" },
  // Registries, clouds and clusters
  { programs: words("docker podman buildah nerdctl skopeo crane helm oras regctl"), command: "login", options: ["-p", "-p*"] },
  { programs: words("az"),                 command: "login",      options: ["-p"] },
  { programs: words("oc"),                 command: "login",      options: ["-p"] },
  { programs: words("cf ibmcloud bluemix argocd rancher vault-cli acr"), command: "login", options: ["-p"] },
  { programs: words("vault"),              command: "login",      options: [], place: "first" },
  { programs: words("gh"),                 command: "secret",     options: ["-b", "-b*", "--body"] },
  { programs: words("pulumi"),             command: "set",        when: /^--secret$/, options: [], place: "second" },
  { programs: words("fly flyctl doppler"), command: "secrets",    options: [], place: "each", after: "=" },
  { programs: words("aws"),                command: "put-parameter", when: /SecureString/, options: ["--value"] },
  { programs: words("az"),                 command: "keyvault",   options: ["--value"] },
  { programs: words("doctl"),              command: "auth",       options: ["-t"] },
  { programs: words("kubectl oc k3s microk8s"),                   options: ["--from-literal"], after: "=" },
  { programs: words("kubectl oc"),                                options: ["--docker-password"] },
  { programs: words("twine"),                                     options: ["-p"] },
  { programs: words("npm yarn pnpm"),      command: "login",      options: ["-p"] },
  { programs: words("nuget"),                                     options: ["-ApiKey", "-Password"] },
  { programs: words("dotnet"),             command: "nuget",      options: ["-k", "-p"] },
  { programs: words("heroku"),             command: "config:set", options: [], place: "last", after: "=" },
  // Archives and documents
  { programs: words("7z 7za 7zr 7zz rar unrar"),                  options: ["-p*", "-hp*"] },
  { programs: words("zip unzip zipcloak funzip 7zip"),            options: ["~P"] },
  { programs: words("pdftotext pdftoppm pdfinfo pdfimages"),      options: ["-upw", "-opw"] },
  { programs: words("pdftk"),                                     options: ["input_pw", "owner_pw", "user_pw"] },
  // Encryption
  { programs: words("openssl libressl"),                          options: ["-k", "-K"] },
  { programs: words("openssl libressl"),                          options: ["-passin", "-passout", "-pass"], after: "pass:" },
  { programs: words("openssl"),            command: "passwd",     options: [], place: "last" },
  { programs: words("ssh-keygen"),                                options: ["-N", "-P"] },
  { programs: words("keytool jarsigner apksigner"),               options: ["-storepass", "-keypass", "-srcstorepass", "-deststorepass", "-srckeypass", "-destkeypass"] },
  { programs: words("signtool"),                                  options: ["/p"] },
  { programs: words("ccrypt ccdecrypt ccencrypt ccat"),           options: ["-K"] },
  { programs: words("mcrypt"),                                    options: ["-k"] },
  { programs: words("steghide"),                                  options: ["-p"] },
  { programs: words("ykman"),                                     options: ["-P", "-m"] },
  { programs: words("pkcs11-tool pkcs15-tool opensc-tool"),       options: ["-p"] },
  { programs: words("security"),           command: "unlock-keychain", options: ["-p"] },
  // Logins
  { programs: words("sshpass"),                                   options: ["-p", "-p*"] },
  { programs: words("htpasswd"),           when: /^-[a-zA-Z]*b/,  options: [], place: "last" },
  { programs: words("useradd usermod groupadd"),                  options: ["-p"] },
  { programs: words("wpa_passphrase"),                            options: [], place: "second" },
  { programs: words("nmcli"),                                     options: ["password", "wifi-sec.psk", "802-11-wireless-security.psk", "wep-key-type"] },
  { programs: words("kinit"),                                     options: ["--password"] },
  { programs: words("rdesktop"),                                  options: ["-p"] },
  { programs: words("xfreerdp wlfreerdp mstsc"),                  options: ["/p:*", "/gp:*"] },
  { programs: words("ipmitool"),                                  options: ["-P"] },
  { programs: words("snmpwalk snmpget snmpset snmpbulkwalk snmpstatus"), options: ["-A", "-X", "-c"] },
  { programs: words("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldapcompare ldapmodrdn"), options: ["-w"] },
  { programs: words("ldappasswd"),                                options: ["-w", "-s", "-a"] },
  { programs: words("slappasswd"),                                options: ["-s"] },
  { programs: words("smbclient smbget smbmap rpcclient smbcacls smbspool"), options: ["-U", "--user"], after: "%" },
  { programs: words("smbmap crackmapexec netexec evil-winrm"),    options: ["-p"] },
  { programs: words("openvpn3 openconnect vpnc"),                 options: ["-p"] },
  // The web
  { programs: words("curl"),                                      options: ["~u", "--user", "-U", "--proxy-user"], after: ":" },
  { programs: words("curl"),                                      options: ["--pass", "--tlspassword", "--proxy-pass", "--oauth2-bearer"] },
  { programs: words("http https xh httpie"),                      options: ["-a", "--auth"], after: ":" },
  { programs: words("siege"),                                     options: ["-A"], after: ":" },
  { programs: words("lftp"),                                      options: ["-u", "--user"], after: "," },
  { programs: words("ncftp ncftpget ncftpput"),                   options: ["-p"] },
  { programs: words("wget aria2c"),                               options: ["--http-passwd", "--ftp-passwd", "--http-password", "--ftp-password"] },
  { programs: words("svn hg cvs"),                                options: ["--password"] },
  { programs: words("sendemail swaks"),                           options: ["-xp", "-ap"] },
];

/** The rows of each program. */
export const ROWS_BY_PROGRAM: ReadonlyMap<string, readonly ProgramOption[]> = new Map(
  [...new Set(PROGRAM_OPTIONS.flatMap(({ programs }) => programs))].map((program) => [
    program,
    PROGRAM_OPTIONS.filter(({ programs }) => programs.includes(program)),
  ]),
);

const SHORT = 4;
const ENGLISH = new Set(["http", "https", "security", "mongo", "vault", "influx", "heroku", "curl", "helm", "crane"]);

/** Search words: prefixes of the names; names that are also words or parts of words include a space after them. */
export const PROGRAM_WORDS: readonly string[] = anchorsOf([...ROWS_BY_PROGRAM.keys()]);

function anchorsOf(programs: readonly string[]): readonly string[] {
  const isPlain = (name: string): boolean => name.length > SHORT && !ENGLISH.has(name);
  const plain = programs.filter(isPlain);
  const shortest = plain.filter((name) => !plain.some((other) => other !== name && name.startsWith(other)));
  return [...shortest, ...programs.filter((name) => !isPlain(name)).map((name) => `${name} `)];
}
