import { Fault } from '../model/fault.ts';
import { LIMITS } from '../model/limits.ts';
import { isRecord } from '../model/record.ts';

/**
 * Settings that earlier versions had. Each function returns true for a value that was stricter than
 * what holds now.
 */
const REMOVED: Readonly<Record<string, (value: unknown) => boolean>> = {
  wording: () => false,
  cure: (value) => value === 'reread',
  empty: (value) => value === 'gated',
  form: () => false,
  hardLinks: (value) => value === 'refuse',
  auditFailure: () => false,
  hugeBytes: () => false,
  maxEditBytes: (value) => isBelow(value, LIMITS.maxEditBytes),
  maxReadLines: () => false,
  maxLineChars: () => false,
  maxReadMs: () => false,
  maxDiffLines: () => false,
  lockTimeoutMs: () => false,
  sessionIdleMs: () => false,
  claimMs: () => false,
  claimTools: () => false,
  'journal.reads': (value) => value === 'all',
  'journal.readRetentionMs': () => false,
  'images.secrets': () => false,
  'commands.maxProcesses': (value) => isBelow(value, LIMITS.maxProcesses),
  'commands.memoryBytes': (value) => isBelow(value, LIMITS.commandMemoryBytes),
  'commands.writes': (value) => value === 'seen-only' || value === 'discard',
  'commands.timeoutMs': (value) => isBelow(value, LIMITS.commandTimeoutMs),
  'hooks.snapshot': (value) => value === 'git',
  'proxy.receipts': () => false,
};

function isBelow(value: unknown, limit: number): boolean {
  return typeof value === 'number' && value < limit;
}

/**
 * The settings without those that no longer exist, and a warning for each of these. Throws
 * CONFIG_INVALID if such a setting was stricter than what holds now. `placeOf` names the place of a
 * key.
 */
export function withoutRemoved(
  settings: unknown,
  placeOf: (key: string) => string,
): { readonly settings: unknown; readonly warnings: readonly string[] } {
  if (!isRecord(settings)) return { settings, warnings: [] };
  const warnings: string[] = [];
  const kept = (group: Readonly<Record<string, unknown>>, prefix: string) =>
    Object.entries(group).filter(([name, value]) => {
      const key = prefix + name;
      const isStricter = Object.hasOwn(REMOVED, key) ? REMOVED[key] : undefined;
      if (isStricter === undefined) return true;
      const place = placeOf(key);
      if (isStricter(value))
        throw new Fault(
          'CONFIG_INVALID',
          `${place}: the setting "${key}" no longer exists, and its value was stricter than what holds now; remove it`,
          { path: place },
        );
      warnings.push(`${place}: the setting "${key}" no longer exists and is ignored`);
      return false;
    });
  const entries = kept(settings, '').flatMap(([name, value]): [string, unknown][] => {
    if (!isRecord(value)) return [[name, value]];
    const left = kept(value, `${name}.`);
    // A group that held only such settings may have gone, too.
    return left.length === 0 && Object.keys(value).length > 0 ? [] : [[name, Object.fromEntries(left)]];
  });
  return { settings: Object.fromEntries(entries), warnings };
}
