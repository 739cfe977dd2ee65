import { resolve } from 'node:path';
import type { ShellLine } from '../dialect/calls/shell/shell-line.ts';
import { kindOf, modeOf, readSnapshot } from '../disk/read.ts';
import { GatedHost } from '../gate/host/gated-host.ts';
import { changesOfLine, type LinePlace, type ShellChange } from '../gate/host/line-changes.ts';
import { type OutsideOfLine, outsideOfLine } from '../gate/host/outside.ts';
import { moveCommand } from '../gate/host/pending.ts';
import type { ComingLine } from '../gate/host/would-destroy.ts';
import { untoldLosses } from '../gate/losses.ts';
import { undo } from '../gate/undo/undo.ts';
import { validateOptions, validateUndo } from '../gate/validate.ts';
import { noteOutsideChanges, outsideChangesOfTurn } from '../gate/witness.ts';
import { type CallSettings, entryHead, type World } from '../gate/world.ts';
import { type Coverage, NOTHING } from '../model/coverage.ts';
import { Fault } from '../model/fault.ts';
import { type Fingerprint, sameFingerprint } from '../model/fingerprint.ts';
import type { Edit, FileIntent, HostIntent, Intent } from '../model/intent.ts';
import { LIMITS } from '../model/limits.ts';
import { defined } from '../model/record.ts';
import type {
  ApplyResult,
  ChangeResult,
  Notice,
  RunResult,
  UndoResult,
  WitnessEvent,
} from '../model/results.ts';
import type {
  AnnounceOptions,
  ApplyOptions,
  CallOptions,
  ChangeEnding,
  Command,
  CommandOptions,
  DeleteOptions,
  EditOptions,
  InsertOptions,
  MoveOptions,
  Patch,
  RunOptions,
  Session,
  SignalOption,
  UndoSelection,
  WriteOptions,
} from '../model/session.ts';
import { showsAll } from '../model/sighting.ts';
import { type Outcome, type Refusal, refused } from '../model/verdict.ts';
import type { Elsewhere } from '../process/run-elsewhere.ts';
import { shownBefore } from '../text/diff-rows.ts';
import { parsePatch } from '../text/patch/parse.ts';
import { isSecretPath } from '../text/secrets.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Located } from '../workspace/workspace.ts';
import { LookingSession, partsOf } from './looking-session.ts';
import { AS_GIVEN, type PathNames, withRealPaths } from './path-names.ts';
import { notAFile, unreadableRefusal } from './reading.ts';
import { type LineReach, runCommand } from './run.ts';

/** Number of a session's newest unchecked calls among which `isUnjudged` searches for an id. */
const MAX_UNJUDGED = 200;

/** A session as the proxy uses it. */
export type HostSession = GatedHost;

/**
 * A session whose operations pass through the gate. Each method only delegates to the one place
 * that implements the operation.
 */
export class GatedSession extends LookingSession implements Session {
  write(
    path: string,
    content: string | Uint8Array,
    options: WriteOptions = {},
  ): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'write', path, content }, options);
  }

  edit(path: string, edits: readonly Edit[], options: EditOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'edit', path, edits }, options);
  }

  /** Like `edit`, but refuses as STALE instead of merging, for callers that cannot show notices to the model. */
  async editUnmerged(path: string, edits: readonly Edit[]): Promise<Outcome<ChangeResult>> {
    return onlyResult(await this.#perform({ kind: 'edit', path, edits }, {}, { staleness: 'refuse' }));
  }

  append(path: string, content: string, options: CallOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'insert', path, content }, options);
  }

  insert(path: string, content: string, options: InsertOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'insert', path, content }, options);
  }

  apply(changes: readonly FileIntent[], options: ApplyOptions = {}): Promise<Outcome<ApplyResult>> {
    const { call, own } = partsOf(options);
    return this.perform({ ...own, kind: 'apply', changes }, call);
  }

  /**
   * A dry run of changes that also accepts files that the session has not read. Lines shown in its
   * diffs count as read.
   */
  async preview(
    changes: readonly FileIntent[],
    { signal }: SignalOption = {},
  ): Promise<Outcome<ApplyResult>> {
    return this.called({ signal }, async (names, _world, times) => {
      const intent: Intent = { kind: 'apply', changes, dryRun: true };
      const meant = withRealPaths(intent, names);
      const outcome = await this.gate.perform(meant, { times, signal, settings: { seen: 'optional' } });
      for (const { path, diff = '' } of outcome.ok ? outcome.results : []) {
        const shown = shownBefore(diff);
        if (shown.ranges.length > 0)
          await this.gate.shown({ kind: 'read', path, ...shown, how: 'output' }, times);
      }
      return outcome;
    });
  }

  /** Applies a patch. `names`: converts paths that are not in the session's own form. */
  patch(
    patch: Patch,
    { names = AS_GIVEN, ...options }: ApplyOptions & { readonly names?: PathNames | undefined } = {},
  ): Promise<Outcome<ApplyResult>> {
    const parsed = parsePatch(patch);
    if (parsed.ok) {
      const { changes } = parsed;
      const meant = changes.map((one) => withRealPaths(one, names));
      return this.apply(meant, options);
    }
    const { reason } = parsed;
    return this.called(options, () => {
      const detail = { cause: 'patch', reason } as const;
      return this.noted(
        refused({ code: 'INVALID_ARGUMENT', action: 'edit', path: '', next: 'fix_argument', detail }),
      );
    });
  }

  delete(path: string, options: DeleteOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'delete', path }, options);
  }

  move(source: string, destination: string, options: MoveOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'move', source, destination }, options);
  }

  copy(source: string, destination: string, options: MoveOptions = {}): Promise<Outcome<ChangeResult>> {
    const { call, own } = partsOf(options);
    return this.called(call, async (names, _world, times) => {
      const copying = { source: names.real(source), destination: names.real(destination), options: own };
      const copied = await copyIntent(this.world(), this.knowledge, copying);
      if (!copied.ok) return this.noted(copied);
      return onlyResult(await this.gate.perform(copied.intent, { times, signal: call.signal }));
    });
  }

  mkdir(path: string, options: CallOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'mkdir', path }, options);
  }

  undo(selection: UndoSelection = {}, options: CallOptions = {}): Promise<Outcome<UndoResult>> {
    return this.called(options, async (names, world, times) => {
      const wrong = validateOptions(selection, { of: 'undo' }) ?? validateUndo(world.policy, selection);
      if (wrong !== undefined) return this.noted(refused(wrong));
      const { path } = selection;
      const meant = path === undefined ? selection : { ...selection, path: names.real(path) };
      const { signal } = options;
      return this.noted(await undo(world, this.knowledge, { ...meant, by: 'session', signal, times }));
    });
  }

  run(command: Command, options: RunOptions = {}): Promise<Outcome<RunResult>> {
    return this.runBy('agent', command, options);
  }

  /**
   * Runs a command for the user, or one that a hook has judged. `agent`: judges its line by what it
   * would destroy. `elsewhere`: a shell script starts the command, not this process.
   */
  runBy(
    by: 'agent' | 'user' | 'hook',
    command: Command,
    options: RunOptions,
    elsewhere?: Omit<Elsewhere, 'title'>,
  ): Promise<Outcome<RunResult>> {
    return this.called(options, async (names, world, times) => {
      // Check the options before reading their `cwd`: an untyped caller may pass a value that is not an object.
      const wrong = validateOptions(options, { of: 'run' });
      if (wrong !== undefined) return this.noted(refused(wrong));
      const here = names === AS_GIVEN ? options : { ...options, cwd: names.real('.') };
      let judged: Outcome<object> = { ok: true };
      const judge = async (line: ShellLine, { cwd, reaches }: LineReach): Promise<Outcome<object>> => {
        const arrivedMs = Math.ceil(world.now() - (performance.now() - times.arrivedAt));
        const place = { cwd, at: (path: string) => resolve(cwd, path) };
        const outside =
          reaches === 'outside'
            ? await outsideOfLine(world, line, { changes: await changesOfLine(world, line, place), place })
            : undefined;
        judged = await this.gate.announcements.vetCommand([], {
          line,
          cwd,
          arrivedMs,
          ...defined({ outside }),
        });
        return judged;
      };
      const asked = { command, options: here, times, judge: by === 'agent' ? judge : undefined, elsewhere };
      const outcome = await runCommand(world, this.knowledge, asked);
      return judged.ok ? this.noted(outcome) : judged;
    });
  }

  checkWritable(path: string, options: CallOptions = {}): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.vet({ kind: 'write', path, content: '' }, options);
  }

  vet(intent: Intent, options: CallOptions = {}): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.called(options, (names, _world, times) => this.gate.vet(withRealPaths(intent, names), times));
  }

  perform(intent: Intent, options: CallOptions = {}): Promise<Outcome<ApplyResult>> {
    return this.#perform(intent, options);
  }

  #perform(intent: Intent, options: CallOptions, settings?: CallSettings): Promise<Outcome<ApplyResult>> {
    return this.called(options, (names, _world, times) => {
      const meant = withRealPaths(intent, names);
      return this.gate.perform(meant, { times, signal: options.signal, settings });
    });
  }

  announce(
    intents: readonly HostIntent[],
    options: AnnounceOptions = {},
  ): Promise<Outcome<{ change: string; notices: readonly Notice[] }>> {
    const { call, own } = partsOf(options);
    return this.called(call, (names, _world, times) => {
      const meant = Array.isArray(intents) ? intents.map((one) => withRealPaths(one, names)) : intents;
      return this.gate.announce(meant, own, times);
    });
  }

  settle(
    change: string,
    ending: ChangeEnding,
    options: CallOptions = {},
  ): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.called(options, () => this.gate.settle(change, ending));
  }

  /**
   * Saves the bytes that a shell command may destroy, for a command that the host runs directly on
   * the workspace, without a sandbox. `settle` records the changes afterwards.
   */
  announceCommand(command: string, options: CommandOptions = {}): Promise<string> {
    return this.during(() => this.gate.announcements.announceCommand(command, options));
  }

  /**
   * Records where an announced command runs: on a layer, or directly in the workspace. Called by
   * the program through which the client starts its shell. Returns false if nothing was recorded:
   * the command is not pending, its record already says `to`, or its lock is not free.
   */
  moveCommand(change: string, to: 'layer' | 'workspace'): Promise<boolean> {
    return this.during((world) => moveCommand(world, change, to));
  }

  /** The changes that a shell line certainly makes. */
  changesOf(line: ShellLine, place: LinePlace): Promise<readonly ShellChange[]> {
    return this.during((world) => changesOfLine(world, line, place));
  }

  /** Judges whether a shell command may make its changes, and what else it would destroy. */
  vetCommand(
    changes: readonly ShellChange[],
    coming: ComingLine,
  ): Promise<Outcome<{ readonly held?: ReadonlySet<ShellChange> }>> {
    return this.during(() => this.gate.announcements.vetCommand(changes, coming));
  }

  /** The paths outside the workspace that a shell line deletes, overwrites, or names in code. */
  outsideOf(
    line: ShellLine,
    found: { readonly changes: readonly ShellChange[]; readonly place: LinePlace },
  ): Promise<OutsideOfLine> {
    return this.during((world) => outsideOfLine(world, line, found));
  }

  /** Records the refusal of a host's call that concerns no file of the workspace. */
  refuseCall(refusal: Refusal): Promise<Outcome<object>> {
    return this.during(() => this.gate.announcements.refuse(refusal));
  }

  /** The id of the change that was announced for a call and whose result is not recorded yet. */
  announcedAs(call: string): Promise<string | undefined> {
    return this.during(() => this.gate.announcements.changeOf(call));
  }

  /** Announces that a sub-agent is about to call our MCP server, which then uses this session for the call. */
  announceOwnCall(call: string): Promise<void> {
    return this.during(() => this.gate.announcements.announceOwnCall(call));
  }

  /**
   * True if a call was announced and its result is recorded, even if the host has not reported the
   * end of the call.
   */
  isSettled(call: string): Promise<boolean> {
    return this.during(() => this.gate.announcements.isSettled(call));
  }

  /**
   * Saves the bytes that refused changes destroy: under `mode: observe`, the host makes these
   * changes although they are refused. `settle` later records the changes.
   */
  announceObserved(intents: readonly HostIntent[], call: string): Promise<void> {
    return this.during(() => this.gate.announcements.announceObserved(intents, call));
  }

  /** Records that a call of the host passed without a check. */
  noteUnjudged(
    text: string,
    { path, call }: { readonly path: string | undefined; readonly call: string | undefined },
  ): Promise<void> {
    return this.during((world) => {
      const entry = { kind: 'unjudged', ...entryHead(world, this.knowledge), text } as const;
      return world.store.record({ entries: [{ ...entry, ...defined({ path, call }) }] });
    });
  }

  /** True if the journal says that this call of the session passed without a check. */
  isUnjudged(call: string): Promise<boolean> {
    return this.during(async ({ store }) => {
      const noted = await store.entries({ session: this.id, kinds: ['unjudged'], limit: MAX_UNJUDGED });
      return noted.some((entry) => entry.call === call);
    });
  }

  /** The texts about this session's work that commands of other sessions have removed. */
  untoldLosses(): Promise<readonly string[]> {
    return this.during((world) => untoldLosses(world, this.knowledge));
  }

  /**
   * Records in the journal which of the files that this session has seen were changed by other
   * programs.
   */
  noteOutsideChanges(): Promise<void> {
    return this.during((world) => noteOutsideChanges(world, this.knowledge));
  }

  /** Paths noted as changed by other programs since the last turn began. */
  outsideChangesOfTurn(): Promise<readonly string[]> {
    return this.during((world) => outsideChangesOfTurn(world, this.knowledge));
  }

  /**
   * Records the results of changes that this session announced without a lock and whose end was
   * never reported. Compares bytes to find out what happened.
   */
  settleLeft(): Promise<void> {
    return this.during(() => this.gate.announcements.settleLeft());
  }

  /**
   * This session as a proxy uses it: another server makes the reads and changes, which the session
   * judges and records. `ended` is called when the call ends, if the session serves only one call.
   */
  forHost(ended?: () => void): HostSession {
    const scene = { world: this.world(), knowledge: this.knowledge };
    return new GatedHost(scene, this, { gate: this.gate, ...(ended === undefined ? {} : { ended }) });
  }

  witness(event: WitnessEvent, options: CallOptions = {}): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.called(options, (names, _world, times) =>
      this.gate.witness(withRealPaths(event, names), times),
    );
  }

  async markRead(path: string, options: CallOptions = {}): Promise<Outcome<{ notices: readonly Notice[] }>> {
    const found = await this.resolve(path, options);
    if (!found.ok) return found;
    if (!found.exists) return refused({ code: 'NOT_FOUND', action: 'read', path, next: 'list' });
    return this.witness({ kind: 'read', path }, options);
  }

  #one(intent: FileIntent, options: CallOptions): Promise<Outcome<ChangeResult>> {
    const { call, own } = partsOf(options);
    return this.#perform({ ...own, ...intent }, call).then(onlyResult);
  }
}

function onlyResult(outcome: Outcome<ApplyResult>): Outcome<ChangeResult> {
  if (!outcome.ok) return outcome;
  const [result] = outcome.results;
  if (result === undefined) throw new Fault('MISUSE', 'a change gave no result');
  return { ok: true, ...result };
}

interface CopyRequest {
  readonly source: string;
  readonly destination: string;
  readonly options: Pick<MoveOptions, 'makeParents' | 'overwrite'>;
}

/**
 * The write that copies a file with its present bytes and mode. Lines that the session has seen in
 * the source count as seen in the copy.
 */
async function copyIntent(
  world: World,
  knowledge: Knowledge,
  { source, destination, options }: CopyRequest,
): Promise<Outcome<{ intent: FileIntent }>> {
  const read = async (located: Located): Promise<Outcome<{ intent: FileIntent }>> => {
    if (!located.exists) return refused({ code: 'NOT_FOUND', action: 'read', path: source, next: 'list' });
    const kind = kindOf(located.stats);
    if (kind !== 'file') return refused(notAFile(source, kind));
    const { path } = located.place;
    // Refuse to copy a secret file to an ordinary name: under that name, no rule would mask the
    // secrets.
    if (world.policy.secrets !== 'show' && isSecretPath(path.relative) && !isSecretPath(destination)) {
      const detail = { reason: 'its secrets, which a copy under another name would show' };
      return refused({ code: 'PROTECTED', action: 'read', path: source, next: 'ask_human', detail });
    }
    const { clock } = world.disk;
    const snapshot = await readSnapshot(located.place, { clock, maxBytes: LIMITS.maxEditBytes });
    if ('problem' in snapshot) return refused(unreadableRefusal(source, snapshot));
    const seen = await seenOf(knowledge, path.key, snapshot.fingerprint);
    const mode = modeOf(snapshot.stats) & 0o777;
    const content = snapshot.bytes;
    return { ok: true, intent: { ...options, kind: 'write', path: destination, content, mode, seen } };
  };
  return world.workspace.at({ path: source, action: 'read' }, read, (denied) => denied);
}

async function seenOf(knowledge: Knowledge, key: string, fingerprint: Fingerprint): Promise<Coverage> {
  const sighting = await knowledge.recall(key);
  if (sighting?.fingerprint === undefined || sighting.tombstone === true || !showsAll(sighting.flags))
    return NOTHING;
  return sameFingerprint(sighting.fingerprint, fingerprint) ? sighting.coverage : NOTHING;
}
