import { onTestFinished } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';

/** Sets limits for the rest of this test, so that a small file can be a huge one. */
export function setLimits(limits: Partial<Record<keyof typeof LIMITS, number>>): void {
  const before = { ...LIMITS };
  Object.assign(LIMITS, limits);
  onTestFinished(() => void Object.assign(LIMITS, before));
}
