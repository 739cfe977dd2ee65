import { randomBytes } from 'node:crypto';
import type { World } from '../gate/world.ts';
import type { Transcript } from '../history/derive.ts';
import { walkEntries } from '../journal/journal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { Fault } from '../model/fault.ts';
import { checkedTurn, type TurnMark } from '../model/turn.ts';
import { confirms } from './confirm.ts';
import type { Resumed, ResumeOptions } from './resume-from.ts';

/** As many earlier turns of a session are searched for an id. */
const MAX_SEARCHED = 1000;

/** What happens to the conversation of a session: turns, compaction, resuming, rewinding. Each leaves a journal entry. */
export class Conversation {
  readonly #world: World;
  readonly #ledger: Ledger;
  /** The turn that was begun last; its entry is recorded before any entry that happens in it. */
  #begun: { readonly turn: string; readonly recorded: Promise<void> } | undefined;

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  /** Begins a turn. An id that the session used before, in this process or another, is continued. */
  async beginTurn(mark: TurnMark): Promise<void> {
    const checked = checkedTurn(mark);
    if (this.#begun?.turn !== checked.turn)
      this.#begun = { turn: checked.turn, recorded: this.#recordTurn(checked) };
    const { turn, recorded } = this.#begun;
    try {
      await recorded;
    } catch (error) {
      if (this.#begun?.turn === turn) this.#begun = undefined;
      throw error;
    }
  }

  async checkpoint(label: string): Promise<{ readonly turn: string }> {
    if (typeof label !== 'string') throw new Fault('MISUSE', 'the label of a checkpoint must be a text');
    const turn = `t${randomBytes(5).toString('hex')}`;
    await this.beginTurn({ turn, label });
    return { turn };
  }

  /** Works within the present turn of another conversation, whose sub-agent this is. */
  continueTurnOf(parent: Conversation): void {
    this.#ledger.turn = parent.#ledger.turn;
  }

  async compacted(): Promise<void> {
    await this.#ledger.compacted();
    await this.#note('compacted');
  }

  async resumed(): Promise<void> {
    await this.#ledger.verify((sighting) => confirms(this.#world, sighting));
    await this.#note('resumed');
  }

  async resumeFrom(transcript: Transcript, options: ResumeOptions): Promise<Resumed> {
    // Loaded on demand: no server needs it to start.
    const { resumeFrom } = await import('./resume-from.ts');
    const resumed = await resumeFrom(this.#world, this.#ledger, { transcript, options });
    await this.#note('resumed from a transcript');
    return resumed;
  }

  async rewound(toMs: number): Promise<void> {
    if (!Number.isFinite(toMs)) throw new Fault('MISUSE', 'a moment to rewind to must be a number');
    await this.#ledger.rewound(toMs);
    await this.#note('rewound');
  }

  async #recordTurn(mark: TurnMark): Promise<void> {
    const { store, workspace } = this.#world;
    const { session } = this.#ledger;
    if (!(await this.#isKnown(mark.turn))) {
      const root = workspace.roots[0] ?? '';
      await store.record({ entries: [{ kind: 'turn', atMs: this.#world.now(), session, root, ...mark }] });
    }
    this.#ledger.turn = mark.turn;
  }

  async #isKnown(turn: string): Promise<boolean> {
    const filter = { session: this.#ledger.session, kinds: ['turn'], limit: MAX_SEARCHED } as const;
    for await (const entry of walkEntries(this.#world.store, filter)) if (entry.turn === turn) return true;
    return false;
  }

  async #note(text: string): Promise<void> {
    const root = this.#world.workspace.roots[0] ?? '';
    const entry = { kind: 'session', atMs: this.#world.now(), ...this.#ledger.author, root, text } as const;
    await this.#world.store.record({ entries: [entry] });
  }
}
