import { forEachChild } from "unbash";
import type { SyntaxNode } from "unbash";

/** Programs whose output comes from others, or was encoded until then. */
// oxfmt-ignore
const FOREIGN_PROGRAMS = new Set([
  "curl", "curlie", "wget", "wget2", "aria2c", "axel", "fetch", "http", "https", "httpie", "xh", "lynx", "w3m", "links", "elinks", "GET", "lwp-request",
  "nc", "ncat", "netcat", "socat", "telnet", "ssh", "ftp", "lftp", "tftp", "sftp", "dig", "host", "nslookup", "drill", "whois", "finger", "rclone", "gsutil", "s3cmd",
  "base64", "base32", "base58", "basenc", "xxd", "uudecode", "openssl", "gpg", "gpg2", "age", "rot13", "ascii85", "qprint", "recode", "zbarimg", "steghide",
]);

export function isForeignProgram(name: string): boolean {
  return FOREIGN_PROGRAMS.has(name.slice(name.lastIndexOf("/") + 1));
}

/** Whether a command inside a node fetches or decodes its output. */
export function isForeign(node: SyntaxNode): boolean {
  if (node.type === "Command") {
    if (isForeignProgram(node.name?.value ?? "")) return true;
    if (
      /\/dev\/(?:tcp|udp)\//.test(
        node.redirects.map((each) => ("target" in each ? (each.target?.value ?? "") : "")).join(" "),
      )
    )
      return true;
  }
  let found = false;
  forEachChild(node, (child) => {
    found ||= isForeign(child);
  });
  if (!found && "script" in node && node.script !== undefined) {
    found = node.script.commands.some(({ command }) => isForeign(command));
  }
  return found;
}
