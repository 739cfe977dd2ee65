import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../model/errno.ts';

/** A conversation that a client has kept. */
export interface FoundTranscript {
  readonly client: 'claude-code' | 'codex' | 'gemini';
  readonly path: string;
}

/** A user's folders, and the environment variables that move them. */
interface Places {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The deepest are `sessions/2026/11/15/rollout-….jsonl` and `projects/NAME/SESSION/subagents/agent-….jsonl`. */
const MAX_DEPTH = 5;

/**
 * The transcripts that this user's clients have kept, sorted by name, oldest first. Claude Code files them by project:
 * only projects that contain `root`, or are inside it, are listed. Unreadable folders are skipped.
 */
export function findTranscripts({ home, env }: Places, root: string): readonly FoundTranscript[] {
  const claude = join(env['CLAUDE_CONFIG_DIR'] ?? join(home, '.claude'), 'projects');
  const projects = entriesOf(claude).filter((entry) => entry.isDirectory() && mayConcern(entry.name, root));
  const codex = join(env['CODEX_HOME'] ?? join(home, '.codex'), 'sessions');
  const gemini = join(home, '.gemini', 'tmp');
  return [
    ...projects.flatMap(({ name }) => found('claude-code', join(claude, name), /\.jsonl$/)),
    ...found('codex', codex, /^rollout-.*\.jsonl$/),
    ...found('gemini', gemini, /^session-.*\.jsonl$/),
  ];
}

/**
 * Whether a project folder of Claude Code may concern `root`. Its name is the project's path, with a dash for every
 * character that is not a letter or digit.
 */
function mayConcern(name: string, root: string): boolean {
  const filed = root.replaceAll(/[^A-Za-z0-9]/g, '-');
  return name.startsWith(filed) || filed.startsWith(name);
}

function found(client: FoundTranscript['client'], folder: string, name: RegExp): readonly FoundTranscript[] {
  return filesIn(folder, name, MAX_DEPTH).map((path) => ({ client, path }));
}

function filesIn(folder: string, name: RegExp, depth: number): readonly string[] {
  return entriesOf(folder).flatMap((entry): readonly string[] => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return depth === 0 ? [] : filesIn(path, name, depth - 1);
    return entry.isFile() && name.test(entry.name) ? [path] : [];
  });
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}
