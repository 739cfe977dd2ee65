import type { Notice } from '../model/results.ts';
import type { Step } from './step.ts';

/** Adds the verdict's notices to the result of a step. */
export function told(step: Step, notices: readonly Notice[]): Step {
  if (notices.length === 0) return step;
  return {
    ...step,
    notices,
    run: async () => {
      const outcome = await step.run();
      if (!outcome.ok) return outcome;
      const { result } = outcome;
      return { ...outcome, result: { ...result, notices: [...notices, ...result.notices] } };
    },
  };
}
