import { pathText, phrase } from '../../report/bounded.ts';
import { relativeTime } from '../../report/relative-time.ts';
import { READS, type Tool, tool } from '../tool.ts';

/**
 * The tools that claim and release paths explicitly. They are offered only if the policy says so.
 */
export const CLAIM_TOOLS: readonly Tool[] = [
  tool({
    name: 'claim_path',
    title: 'Claim a path',
    description:
      'Tell other agents that you will work on a file, a folder or a glob. Needed only for work that you have not begun: a change claims its file by itself.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'File, folder or glob, such as src/api/**.' },
        reason: { type: 'string', description: 'Shown to others.' },
        minutes: { type: 'integer', minimum: 1, maximum: 1440, description: 'Default 60.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    annotations: { ...READS, idempotentHint: false },
    needs: 'claims',
    call: ({ path, reason, minutes }) => ({
      kind: 'claim',
      operation: {
        target: path,
        ...(reason === undefined ? {} : { reason }),
        ...(minutes === undefined ? {} : { forMs: minutes * 60_000 }),
      },
      render: ({ others }, { nowMs }) => {
        const at = others.map(
          (each) =>
            `session ${phrase(each.session)} works on ${pathText(each.path)} (${relativeTime(each.atMs, nowMs)})`,
        );
        return [`claimed ${pathText(path)}`, ...at].join('\n');
      },
    }),
  }),
  tool({
    name: 'release_path',
    title: 'Release a path',
    description: 'End your claim on a file, folder or glob, or all of your claims.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', description: 'What you claimed; default: everything.' } },
      additionalProperties: false,
    },
    annotations: READS,
    needs: 'claims',
    call: ({ path }) => ({
      kind: 'release',
      operation: path === undefined ? {} : { target: path },
      render: ({ released }) => `released ${released} ${released === 1 ? 'claim' : 'claims'}`,
    }),
  }),
];
