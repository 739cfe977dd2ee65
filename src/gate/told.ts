import type { Notice } from '../model/results.ts';
import type { Step } from './step.ts';

/** The same step, whose caller is also told what the verdict had to say. */
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
