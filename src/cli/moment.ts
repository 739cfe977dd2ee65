const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** `30m`, `2h`, `3d`: a length of time in milliseconds; undefined if it is none. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(text.trim()) ?? [];
  const unitMs = unit === undefined ? undefined : UNITS_MS[unit];
  return unitMs === undefined ? undefined : Number(amount) * unitMs;
}

/**
 * A point in time: `2h` is two hours before now, otherwise ISO 8601 (`2026-11-15`, `2026-11-15T10:30`, with or without a
 * zone; without one it is local time, a bare date its first moment). Undefined if it is neither.
 */
export function parseMoment(text: string, nowMs: number): number | undefined {
  const ago = parseDuration(text);
  if (ago !== undefined) return nowMs - ago;
  const iso = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/.exec(
    text.trim(),
  );
  if (iso === null) return undefined;
  // A bare date would be read as UTC, which is yesterday evening for half of the world.
  const ms = Date.parse(iso[0].length === 10 ? `${iso[0]}T00:00` : iso[0].replace(' ', 'T'));
  return Number.isNaN(ms) ? undefined : ms;
}
