import { isRecord, type JsonRecord, objectIn, stringIn } from '../model/record.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import type { RecordedResult } from './tool-result.ts';

/**
 * The outcome data in a result of Lookfirst's own tools: success, and the revision it proves. Empty for other results.
 */
export function outcomeIn(result: JsonRecord): Pick<RecordedResult, 'outcome'> & { readonly refused?: true } {
  const outcome = objectIn(objectIn(result, '_meta') ?? {}, OUTCOME_KEY);
  if (!isRecord(outcome)) return {};
  if (outcome['ok'] !== true) return { refused: true };
  const revision = stringIn(outcome, 'revision');
  const complete = outcome['complete'] === true;
  return { outcome: { complete, ...(revision === undefined ? {} : { revision }) } };
}
