const UNITS = ['KB', 'MB', 'GB', 'TB'] as const;

/** Formats a size as `512 B`, `1.5 KB`, `12 MB`: powers of 1024, two significant digits. */
export function byteSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let amount = bytes / 1024;
  let unit = 0;
  // 1023.95 KB would round to 1024 KB.
  while (amount >= 999.5 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${amount < 9.95 ? amount.toFixed(1) : Math.round(amount)} ${UNITS[unit]}`;
}
