import { isRecord, objectIn, parseJson, stringIn } from '../../../model/record.ts';

/** The output of a command, and whether it is known to have succeeded. */
export interface HostCommandOutput {
  readonly ok: boolean;
  readonly stdout: string;
}

/** `Chunk ID: …`, `Wall time: …`, `Process exited with code N` or `Exit code: N`, …, `Output:` and then the output. */
const HEADER =
  /^(?:(?:Chunk ID|Wall time|Original token count|Total output lines|Exit code): [^\n]*\n|Process [^\n]*\n){1,8}Output:\n/;
const EXIT = /^(?:Exit code: |Process exited with code )(\d+)$/m;
const TRUNCATED = /^Warning: truncated output \(original token count: \d+\)\n/;
const MAX_HEADER = 1000;

/**
 * Removes Codex's header; older versions wrote JSON. Undefined if the text is neither; the command's success is then
 * unknown.
 */
export function codexOutput(text: string): HostCommandOutput | undefined {
  const header = HEADER.exec(text.slice(0, MAX_HEADER))?.[0];
  if (header === undefined) return fromJson(text);
  const stdout = text.slice(header.length);
  return { ok: EXIT.exec(header)?.[1] === '0' && !TRUNCATED.test(stdout.slice(0, MAX_HEADER)), stdout };
}

function fromJson(text: string): HostCommandOutput | undefined {
  const parsed = text.startsWith('{') ? parseJson(text) : undefined;
  const stdout = isRecord(parsed) ? stringIn(parsed, 'output') : undefined;
  if (!isRecord(parsed) || stdout === undefined) return undefined;
  return { ok: objectIn(parsed, 'metadata')?.['exit_code'] === 0, stdout };
}

const FRAME = /^(?:<untrusted_context>\n)?Output: /;
const GROUP = /\nProcess Group PGID: \d+(?:\n<\/untrusted_context>)?$/;

/** Removes Gemini CLI's frame. It names an exit code, error or signal only if there is one. */
export function geminiOutput(text: string): HostCommandOutput | undefined {
  const frame = FRAME.exec(text)?.[0];
  if (frame === undefined) return undefined;
  const stdout = text.slice(frame.length).replace(GROUP, '');
  const failed = /\n(?:Error|Exit Code|Signal|Background PIDs): [^\n]*$/m.test(stdout.slice(-MAX_HEADER));
  return { ok: !failed && stdout !== '(empty)', stdout };
}
