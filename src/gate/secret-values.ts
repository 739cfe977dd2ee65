import { join } from 'node:path';
import { listNames } from '../disk/list.ts';
import { readSnapshot } from '../disk/read.ts';
import { errnoOf } from '../model/fault.ts';
import type { Place } from '../model/path.ts';
import { decodeText } from '../text/decode.ts';
import { isSecretPath, masked, withoutSecrets } from '../text/secrets.ts';
import type { Located } from '../workspace/workspace.ts';
import { type SecretText, secretTexts } from './known-secrets.ts';
import type { World } from './world.ts';

/** Maximum size of a secret file whose values are masked in command output. Larger ones are skipped. */
const MAX_SECRET_BYTES = 64 << 10;
/** Maximum number of secret files per folder whose values are masked in command output. More are skipped. */
const MAX_SECRET_FILES = 20;
/** Folders of a root that are searched for secret files, because such files are usual there. */
const SECRET_FOLDERS = ['.', '.aws', '.docker', '.kube', 'config'];

/** The content of an answer: the text of one file, of several files, or the output of a search or command. */
type AnswerContent =
  | { readonly kind: 'file'; readonly path: string; readonly extent: 'whole' | 'part' }
  | { readonly kind: 'files' | 'output'; readonly paths: readonly string[] };

/** Remembers the values of the secret files that a command may read: the usual ones, and those that its line names. */
export async function learnSecrets(world: World, names: Iterable<string>): Promise<void> {
  if (world.policy.secrets === 'show') return;
  await usualSecrets(world);
  for (const name of names) await learnSecretAt(world, name);
}

/** Remembers the values of a file if it is secret. */
export async function learnSecretAt(world: World, path: string): Promise<void> {
  if (world.policy.secrets !== 'show' && isSecret(world, path)) await secretsAt(world, path);
}

/**
 * Returns the function that masks secrets in a command's output: tokens, and the values in secret
 * files. Secret files are searched only in the `SECRET_FOLDERS` of each root.
 */
export async function outputMask(world: World): Promise<(text: string) => string> {
  if (world.policy.secrets === 'show') return (text) => text;
  return maskOf(await usualSecrets(world));
}

/**
 * Masks secrets in the texts of another server's answer. Recognises them in the texts themselves, not
 * on disk, where that is possible: the file may have changed since.
 */
export async function maskAnswer(
  world: World,
  texts: readonly string[],
  content: AnswerContent,
): Promise<readonly string[]> {
  if (content.kind === 'file') {
    const options = { secretFile: isSecret(world, content.path), isPart: content.extent === 'part' };
    return texts.map((text) => masked(text, options));
  }
  const known: SecretText[] = [];
  for (const path of content.paths) if (isSecret(world, path)) known.push(...(await secretsAt(world, path)));
  if (content.kind === 'files') return texts.map(maskOf(known));
  const mask = maskOf([...known, ...(await usualSecrets(world))]);
  return texts.map((text) => mask(withMaskedHits(text)));
}

function isSecret(world: World, path: string): boolean {
  const resolved = world.workspace.resolve(path, 'status');
  return isSecretPath(resolved.ok ? resolved.path.relative : path);
}

/** Matches a line of a search result: the path, a line number in some forms, and the line itself. */
const HIT = /^(\S[^\n:]*?)(:\d{1,9}:|-\d{1,9}-|:)(.*)$/gm;

/** Masks the values in lines of secret files that a search found. */
function withMaskedHits(text: string): string {
  return text.replace(HIT, (line, path: string, mark: string, found: string) =>
    isSecretPath(path) ? `${path}${mark}${masked(found, { secretFile: true, isPart: true })}` : line,
  );
}

async function usualSecrets(world: World): Promise<SecretText[]> {
  const known: SecretText[] = [];
  for (const root of world.workspace.roots)
    for (const folder of SECRET_FOLDERS) known.push(...(await secretsIn(world, join(root, folder))));
  return known;
}

function maskOf(known: readonly SecretText[]): (text: string) => string {
  // Longer values first, because one value may be part of another.
  const sorted = known.toSorted((one, other) => other.text.length - one.text.length);
  return (text) =>
    sorted.reduce((shown, secret) => shown.replaceAll(secret.text, () => secret.shown), withoutSecrets(text));
}

async function secretsAt(world: World, path: string): Promise<readonly SecretText[]> {
  return world.workspace.at<readonly SecretText[]>(
    { path, action: 'read' },
    ({ exists, place }) => (exists ? secretsOfFile(world, place) : []),
    () => [],
  );
}

async function secretsOfFile({ secretValues }: World, place: Place): Promise<readonly SecretText[]> {
  const snapshot = await readSnapshot(place, { clock: undefined, maxBytes: MAX_SECRET_BYTES });
  const text = 'problem' in snapshot ? undefined : decodeText(snapshot.bytes)?.text;
  if (text === undefined) return [];
  secretValues.learn(text);
  return secretTexts(text);
}

async function secretsIn(world: World, folder: string): Promise<readonly SecretText[]> {
  const search = async (located: Located): Promise<readonly SecretText[]> => {
    const { place } = located;
    if (!located.exists || !located.stats.isDirectory()) return [];
    const dir = place.name === '.' ? place.dir : place.dir.enter(place.name);
    try {
      return await secretsOf(world, { path: place.path, dir, folder });
    } finally {
      dir.close();
    }
  };
  try {
    return await world.workspace.at({ path: folder, action: 'read' }, search, () => []);
  } catch (error) {
    if (!UNLISTABLE.has(errnoOf(error))) throw error;
    return [];
  }
}

/**
 * System errors for a folder that is gone by now, or that this user may not list. A folder with
 * such an error is skipped: a command of this user cannot find the secret files in it either.
 */
const UNLISTABLE: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR']);

async function secretsOf(
  world: World,
  { path: parent, dir, folder }: Pick<Place, 'path' | 'dir'> & { readonly folder: string },
): Promise<readonly SecretText[]> {
  const names = listNames(dir).filter(
    ({ name, kind }) => kind === 'file' && isSecretPath(join(folder, name)),
  );
  const found: SecretText[] = [];
  for (const { name } of names.slice(0, MAX_SECRET_FILES))
    found.push(...(await secretsOfFile(world, { path: world.workspace.child(parent, name), dir, name })));
  return found;
}
