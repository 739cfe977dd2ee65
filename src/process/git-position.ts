import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { errnoOf } from '../model/fault.ts';
import { defined } from '../model/record.ts';
import type { GitPosition } from '../model/turn.ts';
import { repositoryAround } from './git.ts';

/**
 * The position of HEAD, branches and index of the repository that contains a folder. Undefined if
 * the folder is in no repository. Runs no program.
 */
export function gitPosition(folder: string): GitPosition | undefined {
  const top = repositoryAround(folder);
  if (top === undefined) return undefined;
  const own = gitFolder(top);
  const common = resolve(own, textAt(join(own, 'commondir')) ?? '.');
  const head = textAt(join(own, 'HEAD'));
  if (head === undefined) return undefined;
  const refs = branchesOf(common);
  const branch = head.startsWith('ref: ') ? head.slice('ref: '.length) : undefined;
  const commit = branch === undefined ? head : refs.get(branch);
  return {
    ...defined({ branch, commit }),
    branches: digest(
      [...refs]
        .sort()
        .map((ref) => ref.join(' '))
        .join('\n'),
    ),
    index: stagedDigest(join(own, 'index')),
  };
}

function gitFolder(top: string): string {
  const pointer = /^gitdir: (.+)$/.exec(textAt(join(top, '.git')) ?? '')?.[1];
  return pointer === undefined ? join(top, '.git') : resolve(top, pointer);
}

/**
 * The commit of each branch, by the full name of the branch. Includes branches in `packed-refs`.
 */
function branchesOf(common: string): Map<string, string> {
  const refs = new Map<string, string>();
  for (const line of (textAt(join(common, 'packed-refs')) ?? '').split('\n')) {
    const [commit = '', name = ''] = line.split(' ');
    if (name.startsWith('refs/heads/')) refs.set(name, commit);
  }
  for (const name of filesBelow(join(common, 'refs/heads'), 'refs/heads')) {
    const commit = textAt(join(common, name));
    if (commit !== undefined) refs.set(name, commit);
  }
  return refs;
}

function filesBelow(folder: string, name: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory()
        ? filesBelow(join(folder, entry.name), `${name}/${entry.name}`)
        : [`${name}/${entry.name}`],
    );
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

const HEADER_BYTES = 12;
/** The name of the index extension that marks a split index. */
const SPLIT = 'link';
/**
 * The number of bytes in an index entry before its mode: stat fields that even `git status` renews.
 */
const STAT_BYTES = 24;
/** The number of bytes of the object's hash (SHA-1) in an index entry. */
const OBJECT_BYTES = 20;

function stagedDigest(path: string): string {
  try {
    return stagedContent(readFileSync(path));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return '';
  }
}

/** True for the path of a git index, relative to a root. */
export function isGitIndex(relative: string): boolean {
  return /(^|\/)\.git\/(worktrees\/[^/]+\/)?index$/.test(relative);
}

/**
 * A digest of what an index stages, without the stat fields. Indexes in version 4 are compressed, and a split index has
 * the rest of its entries in another file, so both are digested whole.
 */
export function stagedContent(bytes: Buffer): string {
  const isPlain =
    bytes.length >= HEADER_BYTES && bytes.toString('latin1', 0, 4) === 'DIRC' && bytes.readUInt32BE(4) < 4;
  if (!isPlain) return digest(bytes);
  const hash = createHash('sha256');
  const count = bytes.readUInt32BE(8);
  let at = HEADER_BYTES;
  for (let seen = 0; seen < count && at + 62 < bytes.length; seen += 1) {
    const flagsAt = at + STAT_BYTES + 4 + 12 + OBJECT_BYTES;
    const isExtended = (bytes.readUInt16BE(flagsAt) & 0x4000) !== 0;
    const nameAt = flagsAt + (isExtended ? 4 : 2);
    const end = bytes.indexOf(0, nameAt);
    hash.update(bytes.subarray(at + STAT_BYTES, at + STAT_BYTES + 4));
    hash.update(bytes.subarray(flagsAt - OBJECT_BYTES, end + 1));
    // Skip to the next entry: entries are padded with 1 to 8 zero bytes to a multiple of 8.
    at += (end - at + 8) & ~7;
  }
  for (; at + 8 < bytes.length; at += 8 + bytes.readUInt32BE(at + 4))
    if (bytes.toString('latin1', at, at + 4) === SPLIT) return digest(bytes);
  return hash.digest('hex').slice(0, 16);
}

function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

function textAt(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
