/** A value in a JSON or TOML file with its position: `from` is included, `to` is not. */
export type ConfigNode = ObjectNode | ArrayNode | StringNode | OtherNode;

interface Placed {
  readonly from: number;
  readonly to: number;
}

export interface ObjectNode extends Placed {
  readonly kind: 'object';
  readonly members: readonly MemberNode[];
}

export interface MemberNode {
  readonly key: string;
  /** The position of the key. */
  readonly from: number;
  readonly value: ConfigNode;
}

export interface ArrayNode extends Placed {
  readonly kind: 'array';
  readonly items: readonly ConfigNode[];
}

export interface StringNode extends Placed {
  readonly kind: 'string';
  readonly value: string;
}

/** A number, a date, true, false or null. */
interface OtherNode extends Placed {
  readonly kind: 'other';
}

/** The member with this key. If the key occurs twice, returns the last one, as parsers do. */
export function memberOf(node: ObjectNode, key: string): MemberNode | undefined {
  return node.members.findLast((member) => member.key === key);
}

/** The strings of an array, or undefined if it holds anything else. */
export function stringsOf(node: ArrayNode): readonly StringNode[] | undefined {
  const strings = node.items.filter((item) => item.kind === 'string');
  return strings.length === node.items.length ? strings : undefined;
}

/** A syntax error that a scanner throws; `at` is its offset in the text. */
export class ScanProblem extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}
