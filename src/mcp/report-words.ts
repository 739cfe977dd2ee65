import type { Words } from '../dialect/words.ts';
import type { PresetName } from '../model/policy.ts';
import { pathText } from '../report/bounded.ts';
import { byteSize } from '../report/byte-size.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { explain } from '../report/explain.ts';
import { lineWords } from '../report/ranges.ts';
import { relativeTime } from '../report/relative-time.ts';
import type { ToolNames } from '../report/tool-names.ts';

export interface Speaking {
  readonly roots: readonly string[];
  readonly tools: ToolNames;
  readonly wording: PresetName;
  readonly now: () => number;
}

/** The words of `report/`, for one dialect, one policy and whatever moment they are said in. */
export function reportWords({ roots, tools, wording, now }: Speaking): Words {
  return {
    roots,
    path: pathText,
    size: byteSize,
    ago: (ms) => relativeTime(ms, now()),
    lines: lineWords,
    notices: (notices, path) =>
      notices.map((notice) => describeNotice(notice, { path, wording })).filter((text) => text !== ''),
    refusal: (refusal) => explain(refusal, { nowMs: now(), tools, wording }),
  };
}
