import { randomUUID } from 'node:crypto';
import { dirname, relative } from 'node:path';
import { headRevision, repositoryAround } from '../process/git.ts';
import type { Blame, BlamedLine } from './blame.ts';

/** The version of the Agent Trace format that {@link agentTrace} writes. */
const FORMAT_VERSION = '0.1.0';

/** A record in the Agent Trace format (agent-trace.dev): which lines of files which conversation wrote. */
export interface AgentTrace {
  readonly version: string;
  readonly id: string;
  readonly timestamp: string;
  readonly vcs?: { readonly type: 'git'; readonly revision: string };
  readonly tool: { readonly name: string; readonly version: string };
  readonly files: readonly TracedFile[];
}

interface TracedFile {
  readonly path: string;
  readonly conversations: readonly TracedConversation[];
}

interface TracedConversation {
  readonly contributor: { readonly type: 'ai' | 'unknown' };
  readonly ranges: readonly { readonly start_line: number; readonly end_line: number }[];
  readonly related?: readonly { readonly type: string; readonly url: string }[];
}

/** Builds the attribution of files. Paths are relative to the repository, or to `cwd` outside of one. */
export async function agentTrace(
  files: readonly Blame[],
  { cwd, version, nowMs }: { readonly cwd: string; readonly version: string; readonly nowMs: number },
): Promise<AgentTrace> {
  const [first] = files;
  const top = repositoryAround(first === undefined ? cwd : dirname(first.absolute));
  const revision = top === undefined ? undefined : await headRevision(top);
  return {
    version: FORMAT_VERSION,
    id: randomUUID(),
    timestamp: new Date(nowMs).toISOString(),
    ...(revision === undefined ? {} : { vcs: { type: 'git', revision } as const }),
    tool: { name: 'lookfirst', version },
    files: files.map(({ absolute, lines }) => ({
      path: relative(top ?? cwd, absolute),
      conversations: conversationsIn(lines),
    })),
  };
}

/** Lines that no recorded change wrote are left out, unless another program wrote them since. */
function conversationsIn(lines: readonly BlamedLine[]): readonly TracedConversation[] {
  const bySession = new Map<string | undefined, number[]>();
  for (const { line, session, outside } of lines) {
    if (session === undefined && outside !== true) continue;
    bySession.set(session, [...(bySession.get(session) ?? []), line]);
  }
  return [...bySession].map(([session, numbers]): TracedConversation => {
    const ranges = rangesOf(numbers);
    if (session === undefined) return { contributor: { type: 'unknown' }, ranges };
    const url = `urn:lookfirst:session:${encodeURIComponent(session)}`;
    return { contributor: { type: 'ai' }, ranges, related: [{ type: 'session', url }] };
  });
}

function rangesOf(numbers: readonly number[]): TracedConversation['ranges'] {
  const ranges: { start_line: number; end_line: number }[] = [];
  for (const line of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last.end_line === line - 1) last.end_line = line;
    else ranges.push({ start_line: line, end_line: line });
  }
  return ranges;
}
