/**
 * Canonical JSON (RFC 8785): members sorted by UTF-16 code units, no white space, numbers and strings as in ECMAScript.
 * `undefined` members are omitted, as in `JSON.stringify`.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return scalar(value);
  if (Array.isArray(value)) {
    let text = "[";
    for (let i = 0; i < value.length; i++) {
      if (i > 0) text += ",";
      text += canonicalJson(value[i] ?? null);
    }
    return `${text}]`;
  }
  const members = value as Readonly<Record<string, unknown>>;
  let text = "";
  for (const name of Object.keys(members).sort()) {
    const member = members[name];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

function scalar(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`Cannot write a ${typeof value} as JSON`);
  return text;
}
