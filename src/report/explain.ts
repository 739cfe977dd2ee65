import type { PresetName } from '../model/policy.ts';
import type { Refusal } from '../model/verdict.ts';
import { explainsItself, whyAgain } from './again.ts';
import { pathText } from './bounded.ts';
import { evidence, quoted, whatDiffers } from './evidence.ts';
import { nextStep } from './next-step.ts';
import { firstSentence } from './sentences.ts';
import { LOOKFIRST_TOOLS, type ToolNames } from './tool-names.ts';
import { fill, templateFor } from './wordings.ts';

export interface ExplainOptions {
  readonly nowMs: number;
  /** Default: the tools of the default dialect. */
  readonly tools?: ToolNames;
  /** Default: the default sentences. */
  readonly wording?: PresetName;
}

const MAX_BATCH = 20;

/**
 * A refusal in sentences for the agent: what was refused and why, with the code; what was seen and when; the one next step.
 * Bounded in size whatever the refusal holds. The third of a kind in a row, and every fifth after it, says why repeating does not help.
 */
export function explain(refusal: Refusal, options: ExplainOptions): string {
  const tools = options.tools ?? LOOKFIRST_TOOLS;
  const template = templateFor(options.wording ?? 'default', refusal);
  const own =
    template === undefined
      ? [firstSentence(refusal), ...evidence(refusal, options.nowMs)]
      : inSeedWords(template, refusal, { nowMs: options.nowMs, tools });
  // A change that was held back passes when it is repeated.
  const again = refusal.detail?.now === undefined && explainsItself(refusal.detail?.repeated ?? 0);
  return [
    ...own,
    ...batch(refusal),
    // Seed sentences carry their own next step.
    ...(template === undefined ? [nextStep(refusal, tools)] : []),
    ...(again ? [whyAgain(refusal, tools)] : []),
  ].join('\n');
}

/** The seed's sentence as it is; after it only what the sentence cannot know: a special cause, and what the file shows. */
function inSeedWords(
  template: string,
  refusal: Refusal,
  { nowMs, tools }: { readonly nowMs: number; readonly tools: ToolNames },
): string[] {
  const { detail } = refusal;
  const differs = detail === undefined ? undefined : whatDiffers(detail);
  const sentence = fill(template, {
    path: pathText(refusal.path),
    tool: tools.read,
    count: detail?.count === undefined ? 'several' : String(detail.count),
    reason: differs,
    proceed: differs === undefined ? undefined : 'Nothing was changed; to proceed, repeat the same call.',
    mtime: isoTime(detail?.mtimeMs),
    read: isoTime(detail?.seenMtimeMs ?? detail?.seenAtMs),
  });
  if (refusal.code === 'NOT_READ' && detail?.reason !== undefined)
    return [sentence, ...evidence(refusal, nowMs)];
  return [sentence, ...quoted(detail ?? {})];
}

/** Every refused file of a batch; nothing of it was done. */
function batch({ detail }: Refusal): string[] {
  const refusals = detail?.refusals ?? [];
  if (refusals.length === 0) return [];
  const lines = refusals.slice(0, MAX_BATCH).map((refusal) => `- ${firstSentence(refusal)}`);
  const more = refusals.length - lines.length;
  return ['Nothing was changed. Refused were:', ...lines, ...(more > 0 ? [`- and ${more} more`] : [])];
}

/** ISO 8601 with milliseconds, in UTC: seed B's local times jump twice a year. */
function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
