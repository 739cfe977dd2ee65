import type { ForeignIntent, TouchIntent } from '../dialect/servers/step.ts';
import { sameContent } from '../journal/side.ts';
import { judge } from '../judge/judge.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Effect, NewEntry, Side } from '../model/entry.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import { type Action, type Outcome, type Refusal, refused } from '../model/verdict.ts';
import type { Found } from '../workspace/workspace.ts';
import { newChangeId } from './carry-out.ts';
import { pathsOf } from './keys.ts';
import { look } from './look.ts';
import type { Denied } from './prepared.ts';
import type { Refusals } from './refusals.ts';
import { sideOfLocated } from './side-at.ts';
import { readTree } from './tree.ts';
import { vetOne } from './vet.ts';
import { witness } from './witness.ts';
import type { World } from './world.ts';

/** How another program's change ended, as far as anyone knows. */
export type Ending = 'done' | 'failed' | 'unknown';

interface Prepared {
  readonly intents: readonly ForeignIntent[];
  readonly before: readonly Effect[];
  readonly entry: NewEntry;
}

/**
 * Changes that another program makes: vetted before, with the bytes kept that it may destroy, and recorded afterwards by
 * what is on the disk then. Between the two anyone can write; what the other program does about that is its own affair.
 */
export class ForeignChanges {
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #refusals: Refusals;
  readonly #prepared = new Map<string, Prepared>();

  constructor(world: World, ledger: Ledger, refusals: Refusals) {
    this.#world = world;
    this.#ledger = ledger;
    this.#refusals = refusals;
  }

  /** May all of these be made? If so their before-images are kept, under the id that `settle` takes. */
  async prepare(
    intents: readonly ForeignIntent[],
  ): Promise<Outcome<{ change: string; notices: readonly Notice[] }>> {
    const notices: Notice[] = [];
    const refusals: Refusal[] = [];
    for (const intent of intents) {
      const vetted = await this.#vet(intent);
      if (vetted.ok) notices.push(...vetted.notices);
      else refusals.push((await this.#refusals.record(vetted)).refusal);
    }
    const [first] = refusals;
    if (first !== undefined) {
      return refused(refusals.length === 1 ? first : { ...first, detail: { ...first.detail, refusals } });
    }
    const change = newChangeId();
    const before = await this.#sides(intents);
    const entry = this.#entry(intents, change, before);
    await this.#world.store.record({ announce: { change, entry, owner: this.#world.owner } });
    await this.#keep(before);
    this.#prepared.set(change, { intents, before, entry });
    return { ok: true, change, notices };
  }

  /** Records what came of it. After anything but success nothing the session saw of these files is trusted any more. */
  async settle(change: string, ending: Ending): Promise<Outcome<{ notices: readonly Notice[] }>> {
    const prepared = this.#prepared.get(change);
    this.#prepared.delete(change);
    if (prepared === undefined) return { ok: true, notices: [] };
    const effects = await this.#effects(prepared.before);
    const entries = effects.length === 0 ? [] : [{ ...prepared.entry, effects, atMs: this.#world.now() }];
    await this.#world.store.record({ entries, settle: [change] });
    for (const intent of prepared.intents) await this.#remember(intent, ending);
    return { ok: true, notices: [] };
  }

  #vet(intent: ForeignIntent): Promise<{ ok: true; notices: readonly Notice[] } | Denied> {
    return intent.kind === 'touch' ? this.#vetTouch(intent) : vetOne(this.#world, this.#ledger, intent);
  }

  /** Only the other program knows the text: the lines it names must have been seen, and nothing may have changed. */
  async #vetTouch(intent: TouchIntent): Promise<{ ok: true; notices: readonly Notice[] } | Denied> {
    const action = intent.lines === undefined ? 'overwrite' : 'edit';
    const outcome = await look(this.#world, this.#ledger, { path: intent.path, action, depth: 'glance' });
    if (!outcome.ok) return outcome;
    const { view } = outcome;
    view.located.place.dir.close();
    if (!view.located.exists) return { ok: true, notices: [] };
    const facts = { ...view.facts, ...(intent.lines === undefined ? {} : { touched: intent.lines }) };
    const verdict = judge(facts, { ...this.#world.policy, partial: 'lines', staleness: 'refuse' });
    return verdict.outcome === 'refuse'
      ? { ok: false, refusal: verdict.refusal }
      : { ok: true, notices: verdict.notices };
  }

  #entry(intents: readonly ForeignIntent[], change: string, effects: readonly Effect[]): NewEntry {
    const [first] = effects;
    const [intent] = intents;
    return {
      kind: 'change',
      atMs: this.#world.now(),
      session: this.#ledger.session,
      root: this.#world.workspace.roots[0] ?? '',
      action: intent === undefined ? 'edit' : actionOf(intent),
      ...(first === undefined ? {} : { path: first.relative }),
      change,
      effects,
      text: 'made by another program',
    };
  }

  /** What is there before, of everything the intents may touch; the after is not known yet. */
  async #sides(intents: readonly ForeignIntent[]): Promise<Effect[]> {
    const effects: Effect[] = [];
    for (const intent of intents) {
      for (const path of intent.kind === 'touch' ? [intent.path] : pathsOf(intent))
        effects.push(...(await this.#sidesAt(path)));
    }
    return effects;
  }

  async #sidesAt(path: string): Promise<Effect[]> {
    const outcome = this.#world.workspace.locate(path, 'status');
    if (!outcome.ok) return [];
    const { located } = outcome;
    try {
      if (located.exists && located.stats.isDirectory()) return await this.#treeSides(located);
      return [effect(located.place.path, (await sideOfLocated(this.#world, located)).side)];
    } finally {
      located.place.dir.close();
    }
  }

  async #treeSides(located: Found): Promise<Effect[]> {
    const dir = located.place.name === '.' ? located.place.dir : located.place.dir.enter(located.place.name);
    try {
      const nodes = readTree(this.#world, dir, located.place.path);
      const effects: Effect[] = [];
      for (const node of nodes) {
        if (node.kind === 'folder') effects.push(effect(node.path, { kind: 'directory', mode: node.mode }));
        else effects.push(...(await this.#sidesAt(node.path.absolute)));
      }
      return effects;
    } finally {
      if (dir !== located.place.dir) dir.close();
    }
  }

  async #keep(effects: readonly Effect[]): Promise<void> {
    for (const { key, before } of effects) {
      if (before.kind !== 'file') continue;
      const outcome = this.#world.workspace.locate(key, 'status');
      if (!outcome.ok) continue;
      try {
        const { snapshot } = await sideOfLocated(this.#world, outcome.located);
        if (snapshot !== undefined) await this.#world.images.keepBytes(snapshot.bytes, snapshot.fingerprint);
      } finally {
        outcome.located.place.dir.close();
      }
    }
  }

  async #effects(before: readonly Effect[]): Promise<Effect[]> {
    const effects: Effect[] = [];
    for (const { key, relative, before: then } of before) {
      const outcome = this.#world.workspace.locate(key, 'status');
      if (!outcome.ok) continue;
      try {
        const { side } = await sideOfLocated(this.#world, outcome.located);
        const after: Side = side.kind === 'file' ? { ...side, kept: false } : side;
        if (!sameContent(then, after)) effects.push({ key, relative, before: then, after });
      } finally {
        outcome.located.place.dir.close();
      }
    }
    return effects;
  }

  async #remember(intent: ForeignIntent, ending: Ending): Promise<void> {
    const paths = intent.kind === 'touch' ? [intent.path] : pathsOf(intent);
    if (ending !== 'done') {
      for (const path of paths) {
        const outcome = this.#world.workspace.resolve(path);
        if (outcome.ok) await this.#ledger.forget(outcome.path.key);
      }
      return;
    }
    await witness(this.#world, this.#ledger, eventOf(intent));
  }
}

function effect(path: ResolvedPath, before: Side): Effect {
  return { key: path.key, relative: path.relative, before, after: before };
}

function actionOf(intent: ForeignIntent): Action {
  if (intent.kind === 'touch') return 'edit';
  return intent.kind === 'write' ? 'overwrite' : intent.kind;
}

function eventOf(intent: ForeignIntent): Parameters<typeof witness>[2] {
  switch (intent.kind) {
    case 'write':
      return { kind: 'write', path: intent.path, content: intent.content };
    case 'delete':
      return { kind: 'delete', path: intent.path };
    case 'move':
      return { kind: 'move', source: intent.source, destination: intent.destination };
    case 'edit':
    case 'insert':
    case 'touch':
    case 'mkdir':
      return { kind: 'write', path: intent.path };
    default:
      return intent satisfies never;
  }
}
