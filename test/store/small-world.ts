import type { UndoPlan } from '../../src/journal/undo-plan.ts';
import type { UndoDelta } from '../../src/journal/undo-steps.ts';
import { type Effect, type Entry, type NewEntry, type State, sameContent } from '../../src/model/entry.ts';
import { ABSENT, FOLDER, file, ROOT } from './samples.ts';

type Op =
  | { readonly kind: 'write'; readonly path: string; readonly content: string }
  | { readonly kind: 'delete' | 'mkdir'; readonly path: string }
  | { readonly kind: 'move'; readonly path: string; readonly to: string };

/**
 * A file tree in memory. Records its changes in a journal like the gate, and executes undo plans.
 */
export class SmallWorld {
  readonly entries: Entry[] = [];
  tree: Map<string, State> = new Map();

  /** All paths with their content, to compare two moments. */
  look(): Record<string, string> {
    const seen = [...this.tree].map(([path, side]): [string, string] => [
      path,
      side.kind === 'file' ? side.fingerprint.sha256 : side.kind,
    ]);
    return Object.fromEntries(seen.sort());
  }

  /** Makes one change of one or more operations; skips operations that are impossible now. */
  change(session: string, ops: readonly Op[]): void {
    const effects = ops.flatMap((op) => this.#do(op));
    if (effects.length > 0) this.#record({ session, effects, action: 'edit' });
  }

  /**
   * Executes a plan, and throws if the tree differs from what the plan expects. Records no steps
   * without effect. `above` says what happens if a parent folder is missing. `made`: the folder is
   * created. `there`: throws, because the plan should have created it.
   */
  follow(plan: UndoPlan, session: string, above: 'made' | 'there' = 'there'): string | undefined {
    for (const { lookAt, before, after } of plan.steps)
      if (lookAt !== undefined && !sameContent(this.#at(relative(lookAt)), after))
        this.#mustBe(lookAt, before);
    const effects = plan.steps.flatMap((step) => this.#followStep(step, above));
    if (effects.length === 0) return undefined;
    return this.#record({ session, effects, action: 'undo', undone: plan.undone });
  }

  #followStep({ key: where, before, after, movedFrom }: UndoDelta, above: 'made' | 'there'): Effect[] {
    const path = relative(where);
    if (sameContent(this.#at(path), after)) return [];
    this.#mustBe(where, before);
    if (above === 'there') for (const each of ancestors(path)) this.#mustBe(key(each), FOLDER);
    if (!this.#canHold(path)) throw new Error(`what is above ${where} is no folder`);
    const parents = this.#parents(path);
    if (movedFrom !== undefined) return [...parents, ...this.#moveFolder(relative(movedFrom.key), path)];
    if (after.kind === 'absent' && this.#below(path).length > 0) return parents;
    if (this.#below(path).length > 0) throw new Error(`${where} still has something in it`);
    return [...parents, this.#set(path, after)];
  }

  #record(more: Partial<NewEntry>): string {
    const seq = this.entries.length + 1;
    const change = `c${seq}`;
    this.entries.push({
      kind: 'change',
      atMs: seq,
      session: '',
      root: ROOT,
      change,
      seq,
      hash: '',
      ...more,
    });
    return change;
  }

  #do(op: Op): Effect[] {
    const there = this.#at(op.path);
    switch (op.kind) {
      case 'write':
        if (there.kind === 'directory' || !this.#canHold(op.path)) return [];
        return [...this.#parents(op.path), this.#set(op.path, file(op.content))];
      case 'mkdir':
        if (there.kind !== 'absent' || !this.#canHold(op.path)) return [];
        return [...this.#parents(op.path), this.#set(op.path, FOLDER)];
      case 'delete':
        if (there.kind === 'absent') return [];
        return [...this.#below(op.path).reverse(), op.path].map((path) => this.#set(path, ABSENT));
      case 'move':
        return this.#move(op.path, op.to);
      default:
        return op satisfies never;
    }
  }

  #move(from: string, to: string): Effect[] {
    const moving = this.#at(from);
    const inTheWay = this.#at(to);
    const nonsense =
      from === to || to.startsWith(`${from}/`) || moving.kind === 'absent' || !this.#canHold(to);
    if (nonsense || inTheWay.kind === 'directory') return [];
    if (moving.kind === 'directory' && inTheWay.kind !== 'absent') return [];
    const parents = this.#parents(to);
    if (moving.kind === 'directory') return [...parents, ...this.#moveFolder(from, to)];
    // The content of a moved file need not be stored: its bytes are at the destination.
    const unkept = moving.kind === 'file' ? { ...moving, kept: false } : moving;
    const source = { ...this.#set(from, ABSENT), before: unkept, movedTo: key(to) };
    return [...parents, source, this.#set(to, moving)];
  }

  #moveFolder(from: string, to: string): Effect[] {
    if (this.#at(from).kind !== 'directory') throw new Error(`no folder at ${from}`);
    const inside = this.#below(from).map((path): [string, State] => [path, this.#at(path)]);
    const effects = [{ ...this.#set(from, ABSENT), movedTo: key(to) }, this.#set(to, FOLDER)];
    for (const [path, side] of inside) {
      this.tree.delete(path);
      this.tree.set(to + path.slice(from.length), side);
    }
    return effects;
  }

  #parents(path: string): Effect[] {
    return ancestors(path)
      .filter((each) => this.#at(each).kind === 'absent')
      .map((each) => this.#set(each, FOLDER));
  }

  #canHold(path: string): boolean {
    return ancestors(path).every((each) => ['absent', 'directory'].includes(this.#at(each).kind));
  }

  #set(path: string, side: State): Effect {
    const before = this.#at(path);
    if (side.kind === 'absent') this.tree.delete(path);
    else this.tree.set(path, side);
    return { key: key(path), relative: path, before, after: side };
  }

  #at(path: string): State {
    return this.tree.get(path) ?? ABSENT;
  }

  #below(path: string): string[] {
    return [...this.tree.keys()].filter((each) => each.startsWith(`${path}/`)).sort();
  }

  #mustBe(where: string, expected: State): void {
    const there = this.#at(relative(where));
    if (!sameContent(there, expected))
      throw new Error(`${where}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(there)}`);
  }
}

function key(path: string): string {
  return `${ROOT}/${path}`;
}

function relative(of: string): string {
  return of.slice(ROOT.length + 1);
}

/** The folders that contain a path, outermost first. */
function ancestors(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join('/'));
}
