const UNITS: Readonly<Record<string, number>> = { '': 1, K: 1 << 10, M: 1 << 20, G: 1 << 30, T: 2 ** 40 };

/** `500M`, `1GB`, `4096`: bytes, in powers of 1024; undefined if it is no amount. */
export function parseBytes(text: string): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?$/i.exec(text.trim()) ?? [];
  const factor = UNITS[unit?.toUpperCase() ?? '?'];
  return factor === undefined ? undefined : Math.round(Number(amount) * factor);
}
