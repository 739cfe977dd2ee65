import type { Refusal, RefusalCode } from '../model/verdict.ts';
import type { ToolNames } from './tool-names.ts';

const FIRST_EXPLAINED = 3;
const EXPLAINED_EVERY = 5;

/** Whether this refusal in a row, with one code on one path, explains itself: the third, then every fifth after it. */
export function explainsItself(repeated: number): boolean {
  return repeated >= FIRST_EXPLAINED && (repeated - FIRST_EXPLAINED) % EXPLAINED_EVERY === 0;
}

/** Why doing the same again did not help, and what else there is. */
export function whyAgain(refusal: Refusal, tools: ToolNames): string {
  const count = refusal.detail?.repeated ?? FIRST_EXPLAINED;
  const { why, out } = (ADVICE[refusal.code] ?? OTHERWISE)(refusal, tools);
  return `This is refusal ${count} in a row for this path. Why repeating does not help: ${why}. Way out: ${out}, or tell the user that it is stuck here.`;
}

interface Advice {
  readonly why: string;
  readonly out: string;
}
type Advise = (refusal: Refusal, tools: ToolNames) => Advice;

const OTHERWISE: Advise = () => ({
  why: 'the same call meets the same rule every time',
  out: 'do what the next step says instead of repeating the call',
});

const ADVICE: Readonly<Partial<Record<RefusalCode, Advise>>> = {
  NOT_READ: (_, tools) => ({
    why: `a read counts only if it succeeded, in this session, of this very path, through ${tools.read}; one by a shell or by another agent does not`,
    out: withRevision(`${tools.read} it, and see that no error came back, before the next try`, tools),
  }),
  PARTIALLY_READ: ({ detail }, tools) =>
    detail?.reason === 'clamped'
      ? {
          why: 'its very long lines are cut at every read, so it is never seen whole',
          out: `change single places with ${tools.edit}`,
        }
      : {
          why: 'a read of lines already shown adds nothing; every missing line must be shown once while the file stays the same',
          out: `read exactly the missing lines, or change single places with ${tools.edit}`,
        },
  REDACTED_READ: (_, tools) => ({
    why: 'every read blanks out the same parts, so it is never seen whole',
    out: `change single places with ${tools.edit}`,
  }),
  READ_EXPIRED: (_, tools) => ({
    why: 'the time allowed between a read and the change keeps running out',
    out: `${tools.read} it and make the change directly afterwards`,
  }),
  STALE: (refusal, tools) =>
    refusal.detail?.reason === 'repeated'
      ? {
          why: 'the very same content was sent again, which was written before the change was shown',
          out: withRevision('send content that keeps what the change brought', tools),
        }
      : {
          why: 'something else (a formatter, a sync, another session) keeps changing the file',
          out:
            refusal.action === 'overwrite'
              ? `change single places with ${tools.edit}, which may follow changes elsewhere in the file`
              : `${tools.read} it and make the change directly afterwards`,
        },
  REVISION_MISMATCH: (_, tools) => ({
    why: 'the revision sent belongs to earlier bytes',
    out: `take the revision from the latest ${tools.read}, or leave it out after reading the file`,
  }),
  NO_MATCH: (_, tools) => ({
    why: 'the text sent is not in the file, character by character',
    out: `${tools.read} the place and copy a shorter, exact piece of it`,
  }),
  AMBIGUOUS_MATCH: () => ({
    why: 'the text sent is still in more than one place',
    out: 'take in the lines above and below until only one place fits',
  }),
  UNVERIFIABLE: () => ({
    why: 'the check itself fails, whatever was read',
    out: 'work on another file',
  }),
  BUSY: () => ({
    why: 'the other writer has not let go',
    out: 'do something else first',
  }),
};

function withRevision(out: string, tools: ToolNames): string {
  const { revision } = tools.arguments;
  return revision === undefined ? out : `${out}, or prove what you build on with ${revision}`;
}
