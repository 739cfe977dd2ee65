/**
 * A minimal model of a session, which predicts the verdicts of the gate. Lines are unique strings,
 * so "seen" is a set of lines, and a file is unchanged if its list of lines is the same.
 */
export class ReferenceSession {
  /** File name → what the session knows. */
  readonly known: Map<string, Knowledge> = new Map();
  /** Contents of files that the session knew completely at some time and has not forgotten since. */
  readonly #whole = new Set<string>();

  knowledge(file: string): Knowledge {
    let known = this.known.get(file);
    if (known === undefined) {
      known = { base: undefined, seen: new Set(), refused: undefined, partial: false };
      this.known.set(file, known);
    }
    return known;
  }

  /** Records that the session was shown `lines` of a file that holds `content`. */
  shown(file: string, content: readonly string[], lines: readonly string[]): void {
    const known = this.knowledge(file);
    if (!same(known.base, content)) known.seen = new Set();
    known.base = [...content];
    for (const line of lines) known.seen.add(line);
    known.partial = false;
    if (content.every((line) => known.seen.has(line))) known.refused = undefined;
  }

  /** Records that the session wrote the whole file itself. */
  wrote(file: string, content: readonly string[]): void {
    this.known.set(file, { base: [...content], seen: new Set(content), refused: undefined, partial: false });
  }

  /** True if the session has seen the whole file at a time when the file had this content. */
  hadSeen(file: string, content: readonly string[]): boolean {
    return this.#whole.has(wholeName(file, content));
  }

  /**
   * True if the file has returned to bytes that the session has seen whole. A real session
   * remembers fewer earlier states, so the gate may refuse a change although this function returns
   * true.
   */
  cameBack(file: string, content: readonly string[] | undefined): boolean {
    if (content === undefined || same(this.known.get(file)?.base, content)) return false;
    return this.hadSeen(file, content);
  }

  /** Remembers the contents that are known whole now; called after every event. */
  remember(): void {
    for (const [file, { base, seen, partial }] of this.known)
      if (base !== undefined && !partial && base.every((line) => seen.has(line))) this.sawWhole(file, base);
  }

  sawWhole(file: string, content: readonly string[]): void {
    this.#whole.add(wholeName(file, content));
  }

  /** True if the session may replace the whole file. */
  mayOverwrite(file: string, current: readonly string[] | undefined, next: string): boolean {
    const known = this.known.get(file);
    if (current === undefined) return true;
    // An empty file may be overwritten unread, unless the session has seen other bytes of it.
    if (current.length === 0 && (known?.base === undefined || known.base.length === 0)) return true;
    if (known?.base === undefined || known.partial || !known.base.every((line) => known.seen.has(line)))
      return false;
    // A write of the content that the file already has destroys nothing.
    if (current.map((line) => `${line}\n`).join('') === next) return true;
    return known.refused !== next && same(known.base, current);
  }

  /**
   * True if the session may change this line: the file is unchanged since it was seen, or the line was seen and is
   * still there.
   */
  mayEdit(file: string, current: readonly string[], line: string): boolean {
    const known = this.known.get(file);
    if (known?.base === undefined) return false;
    return same(known.base, current) || (known.seen.has(line) && current.includes(line));
  }

  compacted(): void {
    this.#whole.clear();
    for (const known of this.known.values()) known.seen = new Set();
  }
}

export interface Knowledge {
  base: string[] | undefined;
  seen: Set<string>;
  /**
   * The content of a write that was refused as stale. The same content is refused again until the
   * session reads the file.
   */
  refused: string | undefined;
  /**
   * True if the file was edited after a partial view. It then counts as partially seen until it is
   * read again.
   */
  partial: boolean;
}

function wholeName(file: string, content: readonly string[]): string {
  return [file, ...content].join('\n');
}

export function same(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  return (
    a !== undefined && b !== undefined && a.length === b.length && a.every((line, index) => line === b[index])
  );
}
