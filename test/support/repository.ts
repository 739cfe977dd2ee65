import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The repositories that `copyRepository` has made, by the text that made them. */
const made = new Map<string, string>();

/**
 * Makes `folder` a git repository by a shell text. The text runs once in each test process, and its
 * result is copied: git starts many times for one repository.
 */
export function copyRepository(folder: string, text: string, env: NodeJS.ProcessEnv): void {
  let template = made.get(text);
  if (template === undefined) {
    template = mkdtempSync(join(tmpdir(), 'repository-'));
    execFileSync('sh', ['-c', text], { cwd: template, env, stdio: 'pipe' });
    made.set(text, template);
  }
  cpSync(template, folder, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  // The copied files have other inode numbers than the index says.
  execFileSync('git', ['update-index', '-q', '--refresh'], { cwd: folder, env, stdio: 'pipe' });
}
