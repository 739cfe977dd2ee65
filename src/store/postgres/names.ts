import { hash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Entry } from '../../model/entry.ts';
import { Fault, unlessMissing } from '../../model/fault.ts';
import { isBelow, isWithin } from '../../model/path.ts';
import { defined } from '../../model/record.ts';
import { makeOnce } from '../prepare-home.ts';

/** Fields whose text, or list of texts, is a path in a workspace. */
const PATH_FIELDS: ReadonlySet<string> = new Set(['root', 'key', 'keys', 'locked']);

/** A root of this machine and the name of its workspace. */
interface MachinePlace {
  readonly root: string;
  readonly workspace: string;
  /** True if several machines write to this root. */
  readonly isShared: boolean;
}

/**
 * Converts paths to names that are valid on all machines of a fleet. A root with a workspace name
 * is stored as `workspace:NAME`, every other path as `machine:ID/path`. The operator chooses the
 * names, because equal paths on two machines may be different workspaces.
 */
export class Names {
  /** The name of this machine in stored paths. Undefined if paths are stored unchanged. */
  readonly machine: string | undefined;
  /**
   * The roots of this machine, longest first, so that a search finds the innermost of nested roots.
   */
  #places: readonly MachinePlace[] = [];
  /**
   * The folders that this process works in. If several roots have the same workspace name, for
   * example because a folder was moved, `local` returns paths in the root that contains one of
   * these folders.
   */
  folders: readonly string[] = [];

  constructor(machine?: string) {
    this.machine = machine;
  }

  get places(): readonly MachinePlace[] {
    return this.#places;
  }

  set places(places: readonly MachinePlace[]) {
    this.#places = [...places].sort((a, b) => b.root.length - a.root.length);
  }

  /** The name of this machine in table rows; `here` if it has none. */
  get here(): string {
    return this.machine ?? 'here';
  }

  /** The named roots of this machine inside a folder. */
  rootsBelow(folder: string): readonly string[] {
    return this.#places.flatMap(({ root }) => (isBelow(root, folder) ? [root] : []));
  }

  /** An entry with this machine's paths. It names its machine only if that is another one. */
  localEntry<E extends Entry>(entry: E): E {
    if (this.machine === undefined) return entry;
    const { machine, ...rest } = this.localIn(entry);
    // The cast is safe: only the optional field is left out.
    return (machine === this.machine ? rest : { ...rest, ...defined({ machine }) }) as E;
  }

  /** The fleet-wide name of a path on this machine. */
  stored(path: string): string {
    if (this.machine === undefined || !path.startsWith('/')) return path;
    const place = this.#places.find(({ root }) => isWithin(path, root));
    if (place !== undefined) return `workspace:${place.workspace}${below(path, place.root)}`;
    return `machine:${this.machine}${below(path, '/')}`;
  }

  /** The path on this machine for a name, or the name itself if there is none. */
  local(name: string): string {
    if (this.machine === undefined || name.startsWith('/')) return name;
    const [, kind, id, rest = ''] = /^(machine|workspace):([^/]*)(.*)$/s.exec(name) ?? [];
    if (kind === 'machine') return id === this.machine ? rest || '/' : name;
    const places = this.#places.filter(({ workspace }) => workspace === id);
    const place = places.find(({ root }) => this.folders.some((each) => isWithin(each, root))) ?? places[0];
    if (kind !== 'workspace' || place === undefined) return name;
    return place.root === '/' ? rest || '/' : place.root + rest;
  }

  /**
   * The workspace name of a root of any machine. For a root without such a name, its path on its
   * machine.
   */
  workspaceOf(root: string): string {
    const [, kind, id = '', rest = ''] = /^(machine|workspace):([^/]*)(.*)$/s.exec(this.stored(root)) ?? [];
    if (kind === undefined) return root;
    return kind === 'workspace' ? id + rest : rest || '/';
  }

  /** A JSON value with all its paths converted to stored names. */
  storedIn<T>(value: T): T {
    return this.machine === undefined ? value : mapped(value, (path) => this.stored(path));
  }

  localIn<T>(value: T): T {
    return this.machine === undefined ? value : mapped(value, (path) => this.local(path));
  }
}

/** Throws unless a workspace name is a word that can be part of a path. */
export function checkWorkspaceName(name: string): void {
  if (/^[A-Za-z0-9][\w.@+-]{0,99}$/.test(name)) return;
  throw new Fault(
    'CONFIG_INVALID',
    `a workspace name has at most 100 letters, digits and . _ @ + -: ${JSON.stringify(name)}`,
  );
}

/**
 * Longer texts are indexed by their hash. An index row of PostgreSQL has at most 2,700 bytes, and a
 * path may have 4,096.
 */
const MAX_INDEXED_BYTES = 1000;
const HASHED = '\u0001#';

/** A column's text for an index: a long text is represented by its hash. */
export function indexKey(text: string): string {
  // Do not encode a short text to measure it: a UTF-16 unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= MAX_INDEXED_BYTES || Buffer.byteLength(text) <= MAX_INDEXED_BYTES) return text;
  return HASHED + hash('sha256', text);
}

/** The rest of a path below a root: empty, or beginning with a slash. */
function below(path: string, root: string): string {
  if (path === root) return '';
  return root === '/' ? path : path.slice(root.length);
}

function mapped<T>(value: T, path: (path: string) => string): T {
  // The cast is safe: only texts in known fields change.
  return mappedValue(value, path) as T;
}

function mappedValue(value: unknown, path: (path: string) => string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => mappedValue(each, path));
  const copy: Record<string, unknown> = {};
  // The cast is safe: any object has string names and unknown values.
  const source = value as Record<string, unknown>;
  for (const name of Object.keys(source)) {
    const member = source[name];
    if (PATH_FIELDS.has(name)) copy[name] = mappedPaths(member, path);
    else copy[name] = typeof member === 'object' ? mappedValue(member, path) : member;
  }
  return copy;
}

function mappedPaths(value: unknown, path: (path: string) => string): unknown {
  if (typeof value === 'string') return path(value);
  return Array.isArray(value) ? value.map((each) => mappedPaths(each, path)) : mappedValue(value, path);
}

const FILE = 'lookfirst.machine';

/**
 * The name of this machine in a fleet: its host name and a random part, because containers and
 * clones share host names. It is stored in the state folder, so two state folders on one computer
 * count as two machines.
 */
export function machineOf(home: string): string {
  const file = join(home, FILE);
  const known = readIfThere(file);
  if (known !== undefined) return known;
  makeOnce(file, `${newName()}\n`);
  return readIfThere(file) ?? newName();
}

/** Like `machineOf`, without creating the file. If there is none, returns a name that no machine has. */
export function existingMachineOf(home: string): string {
  return readIfThere(join(home, FILE)) ?? newName();
}

function newName(): string {
  const host =
    hostname()
      .toLowerCase()
      .replace(/[^a-z0-9.-]/g, '-')
      .slice(0, 40) || 'host';
  return `${host}-${randomBytes(3).toString('hex')}`;
}

function readIfThere(file: string): string | undefined {
  return unlessMissing(() => readFileSync(file, 'utf8').trim());
}
