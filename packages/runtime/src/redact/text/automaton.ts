/**
 * Finds many words while reading the text once, ignoring case (Aho-Corasick, as one table).
 * Cost: one step per character, independent of the words and the text.
 */
export interface Automaton {
  /** The class of each UTF-16 unit; 0 for units that no word contains. */
  readonly classes: Uint8Array;
  /** `next[state + class]` is the next state. States are multiples of the number of classes. */
  readonly next: Int32Array;
  /** States from this one on have a match. */
  readonly firstHit: number;
  /** The words that end in a state, longest first: `hits[(state - firstHit) / width]`. */
  readonly hits: readonly (readonly number[])[];
  readonly width: number;
}

interface Node {
  readonly children: Map<number, Node>;
  readonly words: number[];
  /** The node of the longest proper suffix that is also a prefix of some word. */
  fallback: Node | undefined;
  state: number;
}

export function compileAutomaton(words: readonly string[]): Automaton {
  const { classes, width } = classify(words);
  const root = buildTrie(words, classes);
  const nodes = inBreadth(root);
  const quiet = nodes.filter((node) => node.words.length === 0);
  const loud = nodes.filter((node) => node.words.length > 0);
  for (const [index, node] of quiet.entries()) node.state = index * width;
  for (const [index, node] of loud.entries()) node.state = (quiet.length + index) * width;
  const next = new Int32Array(nodes.length * width);
  for (const { state, fallback, children } of nodes) {
    // Breadth-first: the row of the fallback, which is shorter, is already complete.
    if (fallback !== undefined) next.copyWithin(state, fallback.state, fallback.state + width);
    for (const [code, child] of children) next[state + code] = child.state;
  }
  return { classes, next, width, firstHit: quiet.length * width, hits: loud.map((node) => node.words) };
}

function classify(words: readonly string[]): { classes: Uint8Array; width: number } {
  const classes = new Uint8Array(65_536);
  let width = 1;
  for (const character of new Set(words.join("").toLowerCase())) {
    classes[character.charCodeAt(0)] = width;
    classes[character.toUpperCase().charCodeAt(0)] = width;
    width++;
  }
  return { classes, width };
}

function buildTrie(words: readonly string[], classes: Uint8Array): Node {
  const root: Node = { children: new Map(), words: [], fallback: undefined, state: 0 };
  for (const [index, word] of words.entries()) {
    let node = root;
    for (let i = 0; i < word.length; i++) {
      const code = classes[word.charCodeAt(i)] ?? 0;
      let child = node.children.get(code);
      if (child === undefined) {
        child = { children: new Map(), words: [], fallback: undefined, state: 0 };
        node.children.set(code, child);
      }
      node = child;
    }
    node.words.push(index);
  }
  return root;
}

/** All nodes, shortest first, with fallbacks set and the fallbacks' words merged in. */
function inBreadth(root: Node): Node[] {
  const nodes = [root];
  for (const node of nodes) {
    for (const [code, child] of node.children) {
      let suffix = node.fallback;
      while (suffix !== undefined && !suffix.children.has(code)) suffix = suffix.fallback;
      child.fallback = suffix?.children.get(code) ?? root;
      for (const word of child.fallback.words) child.words.push(word);
      nodes.push(child);
    }
  }
  return nodes;
}
