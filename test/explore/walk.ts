/** Walk: every sequence of moves up to a depth. Sequences that come to the same point are walked on from there once. */
export interface Move<Node> {
  readonly name: string;
  /** Null: it cannot be made here. */
  make(from: Node): Node | null;
}

export interface Walked {
  /** Sequences of moves, of every length up to the depth. */
  readonly sequences: number;
  /** Points that differ in something that decides what can follow. */
  readonly points: number;
}

interface Point<Node> {
  readonly node: Node;
  readonly path: readonly string[];
  ways: number;
}

export interface Walk<Node> {
  readonly root: Node;
  readonly moves: readonly Move<Node>[];
  readonly depth: number;
  keyOf(node: Node): string;
  /** Called once for every point. */
  visit(node: Node): void;
}

export function walk<Node>({ root, moves, depth, keyOf, visit }: Walk<Node>): Walked {
  let level = new Map<string, Point<Node>>([[keyOf(root), { node: root, path: [], ways: 1 }]]);
  const seen = new Set(level.keys());
  let sequences = 0;
  for (let at = 0; at < depth; at++) {
    const next = new Map<string, Point<Node>>();
    for (const point of level.values()) {
      for (const move of moves) {
        const node = step(point, move);
        if (node === null) continue;
        sequences += point.ways;
        const key = keyOf(node);
        if (!seen.has(key)) visit(node);
        seen.add(key);
        const known = next.get(key);
        if (known) known.ways += point.ways;
        else next.set(key, { node, path: [...point.path, move.name], ways: point.ways });
      }
    }
    level = next;
  }
  return { sequences, points: seen.size };
}

/** A failure carries the way to it. */
function step<Node>(point: Point<Node>, move: Move<Node>): Node | null {
  try {
    return move.make(point.node);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`${text}\n  after: ${[...point.path, move.name].join(" > ")}`, { cause: error });
  }
}
