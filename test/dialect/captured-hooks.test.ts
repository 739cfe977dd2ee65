import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { answerFor } from '../../src/dialect/calls/hosts/answers.ts';
import { HOSTS, interpretFor } from '../../src/dialect/calls/hosts/hosts.ts';
import { shownLines } from '../../src/dialect/calls/shown/shown.ts';
import { fieldOf, isRecord } from '../../src/model/record.ts';

const EVENT = /^(?:PreToolUse|PostToolUse|BeforeTool|AfterTool|tool\.execute\.(?:before|after))-/;
const TOOL = new RegExp(
  '-(?:Read|Read-partial|Edit|Write|Write-create|Write-update|NotebookEdit|Bash|apply_patch|apply_patch-multi|' +
    'view_image|read_file|read_file-error|replace|replace-error|run_shell_command|write_file|read|write|edit|bash|' +
    '(?:mcp__?)?lookfirst_{1,2}read_file)[.]json$',
);
const folder = join(import.meta.dirname, '../fixtures/hooks');

/** The effect of a captured hook call. For a hook after a tool, also the lines that its answer showed. */
function readHook(host: string, file: string): object {
  const hook: unknown = JSON.parse(readFileSync(join(folder, host, file), 'utf8'));
  const name = fieldOf(hook, 'tool_name') ?? fieldOf(hook, 'input.tool');
  const args =
    fieldOf(hook, 'tool_input') ?? fieldOf(hook, 'input.args') ?? fieldOf(hook, 'output.args') ?? {};
  const response = fieldOf(hook, 'tool_response') ?? (isRecord(args) ? fieldOf(hook, 'output') : undefined);
  const table = HOSTS.find(({ id }) => id === host);
  if (typeof name !== 'string' || !isRecord(args)) throw new Error(`${file} is no hook of a tool`);
  const meant = interpretFor(table, { tool: { name }, args });
  const isAfter = /^(?:Post|After)|after-/.test(file);
  if (!isAfter) return meant;
  const answer = answerFor(host, response);
  return { ok: answer.ok, output: answer.output, shown: shownLines(meant.touches, answer) };
}

it.each(readdirSync(folder).filter((name) => !name.includes('.')))('%s', (host) => {
  const files = readdirSync(join(folder, host))
    .filter((file) => EVENT.test(file) && TOOL.test(file))
    .sort();
  expect(Object.fromEntries(files.map((file) => [file, readHook(host, file)]))).toMatchSnapshot();
});
