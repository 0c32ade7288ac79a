/** Function names that every provider accepts. */
const TAKEN = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_LENGTH = 64;

export interface ToolNames {
  /** The name sent to the provider; any name is converted to an accepted one. */
  toWire(name: string): string;
  fromWire(wire: string): string;
}

/** Maps tool names to names that the provider accepts, and back. Accepted names stay unchanged. */
export function mapToolNames(names: readonly string[]): ToolNames {
  const wires = new Map<string, string>();
  const backs = new Map<string, string>();
  for (const name of [...names.filter((each) => TAKEN.test(each)), ...names.filter((each) => !TAKEN.test(each))]) {
    let wire = makeWire(name);
    for (let n = 2; backs.has(wire) && backs.get(wire) !== name; n++) {
      const ending = `_${n}`;
      wire = `${makeWire(name).slice(0, MAX_LENGTH - ending.length)}${ending}`;
    }
    wires.set(name, wire);
    backs.set(wire, name);
  }
  return { toWire: (name) => wires.get(name) ?? makeWire(name), fromWire: (wire) => backs.get(wire) ?? wire };
}

function makeWire(name: string): string {
  if (TAKEN.test(name)) return name;
  const made = name.slice(0, MAX_LENGTH).replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  return made === "" ? "_" : made;
}
