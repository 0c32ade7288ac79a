import { generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";

/** A certificate signed by itself, for one name and this machine's address. */
export function makeCertificate(name: string): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: signCertificate(name, { privateKey, publicKey }),
  };
}

function signCertificate(
  name: string,
  { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject },
): string {
  const der = (tag: number, ...parts: readonly (Buffer | string)[]): Buffer => {
    const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
    const { length } = content;
    const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
    return Buffer.concat([Buffer.from([tag, ...size]), content]);
  };
  const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
  const algorithm = der(0x30, oid("2a8648ce3d040302")); // ecdsa-with-SHA256
  const subject = der(0x30, der(0x31, der(0x30, oid("550403"), der(0x0c, name))));
  const names = der(0x30, der(0x82, name), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = der(
    0x30,
    der(0x30, oid("551d11"), der(0x04, names)),
    der(0x30, oid("551d13"), der(0x01, Buffer.from([255])), der(0x04, der(0x30, der(0x01, Buffer.from([255]))))),
  );
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    subject,
    der(0x30, der(0x17, "200101000000Z"), der(0x17, "491231235959Z")),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const whole = der(0x30, body, algorithm, der(0x03, Buffer.from([0]), sign("sha256", body, privateKey)));
  return `-----BEGIN CERTIFICATE-----\n${whole
    .toString("base64")
    .match(/.{1,64}/g)
    ?.join("\n")}\n-----END CERTIFICATE-----\n`;
}
