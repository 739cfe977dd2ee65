import type { ApplyResult } from '../model/results.ts';
import type { Step } from './step.ts';

/** What would be done, without doing it. */
export function dryRun(steps: readonly Step[]): ApplyResult {
  return {
    dryRun: true,
    results: steps.map((step) => ({
      path: step.path.given,
      changed: step.effects.length > 0,
      created: step.action === 'create' || step.action === 'mkdir',
      sizeBytes: 0,
      ...step.preview?.(),
      notices: step.notices ?? [],
    })),
  };
}
