import { randomBytes } from 'node:crypto';
import { entryHead, type World } from '../gate/world.ts';
import { endOfKeptPart, keptPart, newestCut } from '../history/client-rewind.ts';
import type { EntryOf } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import { isRecord } from '../model/record.ts';
import type { Resumed, ResumeOptions, Transcript } from '../model/transcript.ts';
import { checkedTurn, type TurnMark } from '../model/turn.ts';
import { gitPosition } from '../process/git-refs.ts';
import { walkEntries } from '../store/store.ts';
import { transcriptsBeside, transcriptTail } from '../store/transcript-file.ts';
import { withoutSecrets } from '../text/secrets.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { confirms } from './status.ts';

/** Size of the transcript's end that is read. It holds the last two prompts, unless a turn was very long. */
const MAX_TAIL_BYTES = 4 << 20;
/** Size of the transcript's beginning that is read. Its first record is long: it holds the client's instructions. */
const MAX_HEAD_BYTES = 1 << 20;

/** Maximum number of a session's newest turns that are searched for a turn id. */
const MAX_SEARCHED = 1000;
/**
 * Maximum number of newest entries that are searched for the last event of the conversation. Each
 * process that joins the session writes an entry, and usually only a few of these follow the event.
 */
const MAX_JOINING = 20;

/** The events of a session's conversation: turns, compaction, resuming, rewinding. Each writes a journal entry. */
export class Conversation {
  readonly #world: World;
  readonly #knowledge: Knowledge;
  /** The last turn begun. `recorded`: resolves when its journal entry is written. */
  #begun: { readonly turn: string; readonly recorded: Promise<void> } | undefined;

  constructor(world: World, knowledge: Knowledge) {
    this.#world = world;
    this.#knowledge = knowledge;
  }

  /** Begins a turn. If the session used the id in this workspace before, in any process, that turn continues. */
  async beginTurn(mark: TurnMark): Promise<void> {
    const checked = checkedTurn(isRecord(mark) ? withoutTokens(mark) : mark);
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

  async continueTurn(): Promise<void> {
    if (this.#knowledge.turn !== undefined) return;
    const { session } = this.#knowledge;
    const [last] = await this.#world.store.entries({ session, kinds: ['turn'], limit: 1 });
    this.#knowledge.turn = last?.turn;
  }

  async checkpoint(label: string): Promise<{ readonly turn: string }> {
    if (typeof label !== 'string') throw new Fault('MISUSE', 'the label of a checkpoint must be a text');
    const turn = `t${randomBytes(5).toString('hex')}`;
    await this.beginTurn({ turn, label });
    return { turn };
  }

  /** Ends the turn, and with it the claims that its changes made. */
  async endTurn(): Promise<void> {
    const { claims, store } = this.#world;
    const { session } = this.#knowledge;
    if (!(await claims.inFamily()).some((claim) => claim.session === session)) return;
    const event = { event: 'turn-ended', text: 'turn ended' } as const;
    const head = entryHead(this.#world, this.#knowledge);
    await store.record({ entries: [{ kind: 'session', ...head, ...event }] });
  }

  /** Joins the present turn of the parent conversation, for a sub-agent. */
  continueTurnOf(parent: Conversation): void {
    this.#knowledge.turn = parent.#knowledge.turn;
  }

  async compacted(): Promise<void> {
    await this.#knowledge.compacted();
    await this.#note('compacted');
  }

  async resumed(): Promise<void> {
    await this.#knowledge.verify((sighting) => confirms(this.#world, sighting));
    await this.#note('resumed');
  }

  async resumeFrom(transcript: Transcript, options: ResumeOptions): Promise<Resumed> {
    // Import on demand, so that servers start without loading this module.
    const { resumeFrom } = await import('./resume-from.ts');
    const resumed = await resumeFrom(this.#world, this.#knowledge, { transcript, options });
    await this.#note('imported', 'resumed from a transcript');
    return resumed;
  }

  async rewound(toMs: number): Promise<void> {
    if (!Number.isFinite(toMs)) throw new Fault('MISUSE', 'a moment to rewind to must be a number');
    await this.#knowledge.rewound(toMs);
    await this.#note('rewound');
  }

  async rewoundBefore(message: string): Promise<void> {
    const filter = { session: this.#knowledge.session, kinds: ['turn'], limit: MAX_SEARCHED } as const;
    for await (const { turn = '', atMs } of walkEntries(this.#world.store, filter))
      if (turn <= message) return this.rewound(atMs - 1);
    return this.rewound(0);
  }

  async follow(path: string): Promise<void> {
    const tail = transcriptTail(path, MAX_TAIL_BYTES);
    if (await this.#hasUnknownPast()) await this.#recoverPast(tail);
    const cut = newestCut(tail) ?? cutBetweenFiles(path);
    if (cut === undefined) return;
    const dropped = await this.#knowledge.rewound(cut.afterMs, cut.untilMs);
    if (dropped > 0) await this.#note('rewound');
  }

  /**
   * True if the client resumed a conversation of which nothing is recorded: the conversation got a
   * new id, or it took place before the hooks were installed.
   */
  async #hasUnknownPast(): Promise<boolean> {
    const { session } = this.#knowledge;
    const events = await this.#world.store.entries({ session, kinds: ['session'], limit: MAX_JOINING });
    const last = events.find(({ event }) => event !== 'continued');
    return last?.event === 'resumed' && (await this.#knowledge.all()).length === 0;
  }

  /**
   * Makes the file contents that the transcript shows count as seen. If the format of the
   * transcript is unknown, nothing counts as seen, and the files must be read again.
   */
  async #recoverPast(transcript: string): Promise<void> {
    try {
      await this.resumeFrom(transcript, {});
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'CONFIG_INVALID') throw error;
    }
  }

  async #recordTurn(mark: TurnMark): Promise<void> {
    const { store, workspace } = this.#world;
    const { session } = this.#knowledge;
    if (!(await this.#isKnown(mark.turn))) {
      const root = workspace.roots[0] ?? '';
      const git = gitPosition(root);
      const where = git === undefined ? {} : { git };
      const entry = { kind: 'turn', atMs: this.#world.now(), session, root, ...mark, ...where } as const;
      await store.record({ entries: [entry] });
    }
    this.#knowledge.turn = mark.turn;
  }

  async #isKnown(turn: string): Promise<boolean> {
    const filter = { session: this.#knowledge.session, kinds: ['turn'], limit: MAX_SEARCHED } as const;
    const { roots } = this.#world.workspace;
    for await (const entry of walkEntries(this.#world.store, filter))
      if (entry.turn === turn && roots.includes(entry.root)) return true;
    return false;
  }

  /** Records an event of the conversation once, even if a client reports it twice in a row. */
  async #note(event: NonNullable<EntryOf<'session'>['event']>, text: string = event): Promise<void> {
    const { store } = this.#world;
    const { session } = this.#knowledge;
    const newest = await store.entries({ session, limit: MAX_JOINING });
    const last = newest.find((entry) => entry.kind !== 'session' || entry.event !== 'continued');
    if (last?.kind === 'session' && last.event === event) return;
    const head = entryHead(this.#world, this.#knowledge);
    await store.record({ entries: [{ kind: 'session', ...head, event, text }] });
  }
}

/**
 * The time span of the messages that a rewind removed, if the client continues the rewound
 * conversation in the new transcript `path`. Otherwise undefined.
 */
function cutBetweenFiles(path: string): { readonly afterMs: number; readonly untilMs: number } | undefined {
  const kept = keptPart(transcriptTail(path, MAX_HEAD_BYTES, MAX_HEAD_BYTES));
  if (kept === undefined) return undefined;
  const ends = transcriptsBeside(path, kept.thread).flatMap(
    (other) => endOfKeptPart(kept, transcriptTail(other, MAX_TAIL_BYTES, kept.endByte)) ?? [],
  );
  // If no earlier transcript is found, the end of the kept part is unknown. Then everything before
  // the new transcript counts as removed.
  return { afterMs: Math.min(...(ends.length === 0 ? [0] : ends)), untilMs: kept.untilMs };
}

/**
 * Masks tokens in label and prompt. Call it before these are cut: the journal must not hold even
 * the beginning of a token.
 */
function withoutTokens({ label, prompt, ...mark }: TurnMark): TurnMark {
  const hidden = (text: string): string => (typeof text === 'string' ? withoutSecrets(text) : text);
  return {
    ...mark,
    ...(label === undefined ? {} : { label: hidden(label) }),
    ...(prompt === undefined ? {} : { prompt: hidden(prompt) }),
  };
}
