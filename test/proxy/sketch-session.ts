import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { ForeignIntent } from '../../src/dialect/servers/step.ts';
import {
  type Coverage,
  covers,
  linesCoverage,
  NOTHING,
  unionCoverage,
  WHOLE,
} from '../../src/model/coverage.ts';
import type { Notice, StatusResult, WitnessEvent } from '../../src/model/results.ts';
import { type Action, type Outcome, type Refusal, refused } from '../../src/model/verdict.ts';
import type { Ending, ForeignSession, ListingEvent } from '../../src/proxy/foreign-session.ts';
import { Workspace } from '../../src/workspace/workspace.ts';

interface Sight {
  readonly sha: string;
  readonly coverage: Coverage;
  readonly clamped: boolean;
}

type Told = Outcome<{ notices: readonly Notice[] }>;

/** A small, real session: real files, a real workspace, the rules of the default policy that the proxy's tests need. */
export class SketchSession implements ForeignSession {
  readonly id = 'sketch';
  readonly journal: string[] = [];
  readonly events: (WitnessEvent | ListingEvent)[] = [];
  readonly images: Map<string, Map<string, Buffer | undefined>> = new Map();
  readonly #workspace: Workspace;
  readonly #sights = new Map<string, Sight>();
  readonly #prepared = new Map<string, readonly ForeignIntent[]>();
  #next = 1;

  constructor(root: string) {
    this.#workspace = Workspace.open([root]);
  }

  close(): void {
    this.#workspace.close();
  }

  async locate(path: string): Promise<Outcome<{ key: string }>> {
    const found = this.#workspace.resolve(path, 'read');
    return found.ok ? { ok: true, key: found.path.key } : found;
  }

  async prepare(
    intents: readonly ForeignIntent[],
  ): Promise<Outcome<{ change: string; notices: readonly Notice[] }>> {
    const refusals = intents.flatMap((intent) => this.#vet(intent) ?? []);
    const [first] = refusals;
    if (first !== undefined) {
      this.journal.push(`refused ${first.code} ${first.path}`);
      return refused(refusals.length === 1 ? first : { ...first, detail: { refusals } });
    }
    const change = `c${this.#next++}`;
    const images = new Map<string, Buffer | undefined>();
    for (const key of intents.flatMap((intent) => this.#keys(intent))) images.set(key, bytesAt(key));
    this.images.set(change, images);
    this.#prepared.set(change, intents);
    return { ok: true, change, notices: [] };
  }

  async settle(change: string, ending: Ending): Promise<Told> {
    const intents = this.#prepared.get(change);
    if (intents === undefined) throw new Error(`settled twice or never prepared: ${change}`);
    this.#prepared.delete(change);
    this.journal.push(`${ending} ${change} ${intents.map((intent) => intent.kind).join(',')}`);
    for (const intent of intents) this.#settled(intent, ending);
    return { ok: true, notices: [] };
  }

  async witness(event: WitnessEvent | ListingEvent): Promise<Told> {
    this.events.push(event);
    if (event.kind !== 'read') return { ok: true, notices: [] };
    const found = this.#workspace.resolve(event.path, 'read');
    if (!found.ok) return found;
    const bytes = bytesAt(found.path.key);
    if (bytes === undefined) return refused(refusal('NOT_FOUND', 'read', event.path));
    const lines = linesOf(bytes.toString('utf8'));
    const ranges = event.ranges?.map(({ from, to }) => ({
      from: from < 0 ? lines.length + 1 + from : from,
      to: Math.min(to < 0 ? lines.length + 1 + to : to, lines.length),
    }));
    const shown = ranges === undefined ? lines : ranges.flatMap(({ from, to }) => lines.slice(from - 1, to));
    if (event.content !== undefined && linesOf(event.content).join('\n') !== shown.join('\n')) {
      const sha = shaOf(Buffer.from(event.content));
      this.#sights.set(found.path.key, { sha, coverage: WHOLE, clamped: false });
      return refused(refusal('STALE', 'read', event.path));
    }
    const coverage = ranges === undefined ? WHOLE : linesCoverage(ranges, lines.length);
    const before = this.#sights.get(found.path.key);
    const sha = shaOf(bytes);
    const joined = before?.sha === sha ? unionCoverage(before.coverage, coverage, lines.length) : coverage;
    this.#sights.set(found.path.key, { sha, coverage: joined, clamped: event.clamped ?? false });
    return { ok: true, notices: [] };
  }

  async note(text: string): Promise<void> {
    this.journal.push(text);
  }

  async status(path = '.'): Promise<Outcome<StatusResult>> {
    const found = this.#workspace.resolve(path, 'status');
    if (!found.ok) return found;
    const sight = this.#sights.get(found.path.key);
    const whole = sight?.coverage.kind === 'whole';
    const seen = sight === undefined ? 'nothing' : whole ? 'whole' : 'some';
    const bytes = bytesAt(found.path.key);
    const file = {
      path,
      freshness: 'fresh' as const,
      seen,
      ...(bytes === undefined ? {} : { totalLines: linesOf(bytes.toString('utf8')).length }),
      ...(whole ? { revision: sight.sha.slice(0, 32) } : {}),
    } as const;
    return { ok: true, files: [file] };
  }

  /** Puts back what a change destroyed. */
  undo(change: string): void {
    for (const [key, bytes] of this.images.get(change) ?? []) {
      if (bytes === undefined) rmSync(key, { recursive: true, force: true });
      else writeFileSync(key, bytes);
    }
  }

  #vet(intent: ForeignIntent): Refusal | undefined {
    if (intent.kind === 'move') return this.#vetMove(intent.source, intent.destination);
    const action = ACTIONS[intent.kind];
    const found = this.#workspace.resolve(intent.path, action);
    if (!found.ok) return found.refusal;
    const bytes = bytesAt(found.path.key);
    if (bytes === undefined || bytes.length === 0 || intent.kind === 'mkdir') return undefined;
    const sight = this.#sights.get(found.path.key);
    if (sight === undefined || sight.coverage.kind === 'none')
      return refusal('NOT_READ', action, intent.path, 'read');
    if (sight.sha !== shaOf(bytes)) return refusal('STALE', action, intent.path, 'read_again');
    return this.#covered(intent, sight, bytes);
  }

  #covered(
    intent: Exclude<ForeignIntent, { kind: 'move' }>,
    sight: Sight,
    bytes: Buffer,
  ): Refusal | undefined {
    const action = ACTIONS[intent.kind];
    const whole = sight.coverage.kind === 'whole' && !sight.clamped;
    if (intent.kind === 'write' || intent.kind === 'delete')
      return whole ? undefined : refusal('PARTIALLY_READ', action, intent.path, 'read_range');
    if (intent.kind === 'touch') {
      const seen = intent.lines?.every((range) => covers(sight.coverage, range)) ?? whole;
      return seen ? undefined : refusal('PARTIALLY_READ', action, intent.path, 'read_range');
    }
    if (intent.kind !== 'edit') return undefined;
    for (const edit of intent.edits) {
      const count = bytes.toString('utf8').split(edit.oldString).length - 1;
      if (count === 0) return refusal('NO_MATCH', action, intent.path, 'add_context');
      if (count > 1 && edit.replaceAll !== true)
        return refusal('AMBIGUOUS_MATCH', action, intent.path, 'add_context');
    }
    return undefined;
  }

  #vetMove(source: string, destination: string): Refusal | undefined {
    for (const path of [source, destination]) {
      const found = this.#workspace.resolve(path, 'move');
      if (!found.ok) return found.refusal;
    }
    const target = this.#workspace.resolve(destination, 'move');
    return target.ok && target.exists ? refusal('NOT_READ', 'overwrite', destination, 'read') : undefined;
  }

  #settled(intent: ForeignIntent, ending: Ending): void {
    for (const key of this.#keys(intent)) {
      const bytes = bytesAt(key);
      if (ending !== 'done' || bytes === undefined) this.#sights.delete(key);
      else if (intent.kind === 'write' && bytes.toString('utf8') === intent.content)
        this.#sights.set(key, { sha: shaOf(bytes), coverage: WHOLE, clamped: false });
      else if (intent.kind === 'edit' || intent.kind === 'insert') {
        const before = this.#sights.get(key);
        this.#sights.set(key, { sha: shaOf(bytes), coverage: before?.coverage ?? NOTHING, clamped: false });
      } else this.#sights.delete(key);
    }
  }

  #keys(intent: ForeignIntent): string[] {
    const paths = intent.kind === 'move' ? [intent.source, intent.destination] : [intent.path];
    return paths.flatMap((path) => {
      const found = this.#workspace.resolve(path);
      return found.ok ? [found.path.key] : [];
    });
  }
}

const ACTIONS: Readonly<Record<Exclude<ForeignIntent['kind'], 'move'>, Action>> = {
  write: 'overwrite',
  edit: 'edit',
  insert: 'insert',
  touch: 'edit',
  delete: 'delete',
  mkdir: 'mkdir',
};

function refusal(
  code: Refusal['code'],
  action: Action,
  path: string,
  next: Refusal['next'] = 'none',
): Refusal {
  return { code, action, path, next };
}

function bytesAt(key: string): Buffer | undefined {
  return existsSync(key) && statSync(key).isFile() ? readFileSync(key) : undefined;
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function shaOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
