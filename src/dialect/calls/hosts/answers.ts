import {
  integerIn,
  isRecord,
  type JsonRecord,
  objectIn,
  parseJson,
  stringIn,
} from '../../../model/record.ts';
import { lineCount } from '../../../text/lines.ts';
import { type Answer, mcpAnswer, type RecordedPage } from '../answer.ts';

const FAILED: Answer = { ok: false, flagged: true };

/**
 * Builds an answer from what a host passes to a hook after a call: `tool_response`, or opencode's `output`. Responses
 * of unknown hosts are read as MCP results or plain texts.
 */
export function answerFor(host: string, response: unknown): Answer {
  const answer = givenAnswer(host, response);
  if (host !== 'vscode' && host !== 'cursor') return answer;
  return { ...answer, output: certainText(outputIn(answer)) };
}

/**
 * The output of a command, or the result of a search, as far as the model was certainly shown it:
 * hosts give hooks more than the model.
 */
export function outputIn({ output, texts = [] }: Answer): string {
  return output ?? texts.join('\n');
}

function givenAnswer(host: string, response: unknown): Answer {
  if (typeof response === 'string') return host === 'codex' ? codexAnswer(response) : textAnswer(response);
  if (Array.isArray(response)) return mcpAnswer(response);
  if (!isRecord(response)) return FAILED;
  if (Array.isArray(response['content']))
    return response['isError'] === true ? FAILED : mcpAnswer(response['content']);
  switch (host) {
    case 'claude-code':
      return claudeAnswer(response);
    case 'gemini':
      return geminiAnswer(response);
    case 'opencode':
      return opencodeAnswer(response);
    default:
      return plainAnswer(response);
  }
}

function textAnswer(text: string): Answer {
  return { ok: true, flagged: true, texts: [text] };
}

/**
 * Reads an answer of Codex. Codex calls the hook after every command, even a failed one, and gives only the output,
 * without the exit code. After a failed patch or MCP call it does not call the hook. `codexOutput` removes the header
 * that transcripts of Codex have.
 */
function codexAnswer(text: string): Answer {
  const command = codexOutput(text);
  if (command === undefined) return { ...textAnswer(text), output: text };
  return { ok: command.ok, flagged: true, texts: [text], output: command.stdout };
}

/**
 * Reads an answer of Claude Code: `{type: "text", file}` for a read, `{stdout, stderr}` for a
 * command, or the data of a search or an edit.
 */
function claudeAnswer(response: JsonRecord): Answer {
  const file = objectIn(response, 'file');
  if (file !== undefined && response['type'] === 'text')
    return { ok: true, flagged: true, page: claudePage(file), countsEmptyEnd: true };
  if (file !== undefined) return { ok: true, flagged: true, texts: [], media: true };
  const stdout = stringIn(response, 'stdout');
  if (stdout !== undefined) {
    const output = claudeOutput(stdout, stringIn(response, 'persistedOutputPath'));
    return { ok: response['interrupted'] !== true, flagged: true, texts: [output], output };
  }
  // The answer to a search is `{mode: "content", filenames, content}`.
  const content = stringIn(response, 'content');
  return { ok: true, flagged: true, texts: content === undefined ? [] : [claudeSearch(content)] };
}

const CONTEXT = /^<untrusted_context>\n([\s\S]*?)\n<\/untrusted_context>$/;

/**
 * Reads an answer of Gemini CLI: `{llmContent, returnDisplay, error}`. Gemini CLI wraps content of
 * other programs in `<untrusted_context>` lines. This function removes these lines from the texts
 * of MCP servers and from `output`. It leaves them in other texts, because no caller compares those
 * texts exactly with a file. A failed command also gets `ok: true` and keeps its output: hooks
 * compare the output with the files, so the exit code does not matter.
 */
function geminiAnswer(response: JsonRecord): Answer {
  if ((response['error'] ?? null) !== null) return FAILED;
  const { llmContent } = response;
  if (typeof llmContent !== 'string') {
    const answer = mcpAnswer(llmContent);
    return { ...answer, texts: (answer.texts ?? []).map((text) => CONTEXT.exec(text)?.[1] ?? text) };
  }
  const page = geminiPage(llmContent);
  if (page !== undefined) return { ok: true, flagged: true, texts: [llmContent], page };
  if (!FRAME.test(llmContent)) return textAnswer(llmContent);
  const shown = geminiCut(llmContent);
  return { ok: true, flagged: true, texts: [shown], output: geminiOutput(shown)?.stdout };
}

/**
 * Reads an answer of opencode: `{output, metadata}`. The model is given `output`; of a long one, the
 * metadata have only the end, for the screen.
 */
function opencodeAnswer(response: JsonRecord): Answer {
  const text = stringIn(response, 'output');
  const metadata = objectIn(response, 'metadata') ?? {};
  return {
    ok: true,
    flagged: true,
    texts: text === undefined ? [] : [text],
    page: opencodePage(metadata),
    ...(stringIn(metadata, 'output') === undefined ? {} : { output: text }),
  };
}

/** Reads an answer of Cursor or VS Code, according to their documentation: the text is in one of the usual fields. */
function plainAnswer(response: JsonRecord): Answer {
  for (const name of ['output', 'text', 'stdout', 'content', 'result']) {
    const text = stringIn(response, name);
    if (text !== undefined) return { ...textAnswer(text), output: text };
  }
  return { ok: (response['error'] ?? null) === null, flagged: true, texts: [] };
}

/** The output of a command; `ok` is true only if the command is known to have succeeded. */
export interface HostCommandOutput {
  readonly ok: boolean;
  /** True if the command is known to have ended with success, even if its output is cut or missing. */
  readonly ended: boolean;
  readonly stdout: string;
}

/**
 * The header of a command's output in Codex: `Chunk ID: …`, `Wall time: …`, `Process exited with code N` or `Exit
 * code: N`, …, `Output:`.
 */
const HEADER =
  /^(?:(?:Chunk ID|Wall time|Original token count|Total output lines|Exit code): [^\n]*\n|Process [^\n]*\n){1,8}Output:\n/;
const EXIT = /^(?:Exit code: |Process exited with code )(\d+)$/m;
const TRUNCATED = /^Warning: truncated output \(original token count: \d+\)\n/;
const MAX_HEADER = 1000;

/**
 * The output of a command in Codex, without the header before it. Older versions of Codex put the
 * output into JSON instead. Undefined if the text has neither form: the exit code is then unknown.
 */
export function codexOutput(text: string): HostCommandOutput | undefined {
  const header = HEADER.exec(text.slice(0, MAX_HEADER))?.[0];
  if (header === undefined) return fromJson(text);
  const stdout = text.slice(header.length);
  const ended = EXIT.exec(header)?.[1] === '0';
  return { ok: ended && !TRUNCATED.test(stdout.slice(0, MAX_HEADER)), ended, stdout };
}

function fromJson(text: string): HostCommandOutput | undefined {
  const parsed = text.startsWith('{') ? parseJson(text) : undefined;
  const stdout = isRecord(parsed) ? stringIn(parsed, 'output') : undefined;
  if (!isRecord(parsed) || stdout === undefined) return undefined;
  const ended = objectIn(parsed, 'metadata')?.['exit_code'] === 0;
  return { ok: ended, ended, stdout };
}

const FRAME = /^(?:<untrusted_context>\n)?Output: /;
const GROUP = /\nProcess Group PGID: \d+(?:\n<\/untrusted_context>)?$/;

/**
 * Removes the text that Gemini CLI puts around the output of a command. Undefined if there is no
 * such text. `ok` is false if the output is empty, or if its end reports an error, an exit code, a
 * signal or a background process.
 */
export function geminiOutput(text: string): HostCommandOutput | undefined {
  const frame = FRAME.exec(text)?.[0];
  if (frame === undefined) return undefined;
  const stdout = text.slice(frame.length).replace(GROUP, '');
  const failed = /\n(?:Error|Exit Code|Signal|Background PIDs): [^\n]*$/m.test(stdout.slice(-MAX_HEADER));
  return { ok: !failed && stdout !== '(empty)', ended: !failed, stdout };
}

/**
 * The lines that Claude Code records of a read: `{content, startLine, numLines, totalLines}`. Its
 * counts include the empty line after a final newline, which Lookfirst does not count. The file's
 * real number of lines is therefore known only if the read reaches the end.
 */
export function claudePage(file: JsonRecord): RecordedPage | undefined {
  const content = stringIn(file, 'content');
  const from = integerIn(file, 'startLine');
  const lines = integerIn(file, 'numLines');
  const total = integerIn(file, 'totalLines');
  if (content === undefined || from === undefined || lines === undefined || total === undefined)
    return undefined;
  if (from < 1 || lines < 0) return undefined;
  if (from + lines - 1 < total) return { content, from, to: from + lines - 1, exact: true };
  const last = from - 1 + lineCount(content);
  return { content, from, to: last, totalLines: last, exact: true };
}

const GEMINI_PAGE =
  /^\nIMPORTANT: The file content has been truncated\.\nStatus: Showing lines (\d{1,12})-(\d{1,12}) of (\d{1,12}) total lines\.\n/;
const GEMINI_TEXT = '\n--- FILE CONTENT (truncated) ---\n';

/**
 * The lines of a file in a read result of Gemini CLI. The total that the result states also counts
 * the empty line after a final newline.
 */
export function geminiPage(text: string): RecordedPage | undefined {
  const [, first, last, total] = GEMINI_PAGE.exec(text) ?? [];
  const start = text.indexOf(GEMINI_TEXT);
  if (first === undefined || start === -1) return undefined;
  const content = text.slice(start + GEMINI_TEXT.length);
  const from = Number(first);
  if (Number(last) < Number(total)) return { content, from, to: Number(last), exact: false };
  const to = from - 1 + lineCount(content);
  return { content, from, to, totalLines: to, exact: false };
}

/** The lines that opencode records of a read: `{text, lineStart, lineEnd, totalLines}`. */
function opencodePage(metadata: JsonRecord): RecordedPage | undefined {
  const display = objectIn(metadata, 'display') ?? {};
  const content = stringIn(display, 'text');
  const from = integerIn(display, 'lineStart');
  const to = integerIn(display, 'lineEnd');
  if (display['type'] !== 'file' || content === undefined || from === undefined || to === undefined)
    return undefined;
  const totalLines = integerIn(display, 'totalLines');
  return { content, from, to, totalLines, exact: false };
}

/** Over this many characters, Claude Code stores a search result in a file and shows the model a preview. */
const CLAUDE_SEARCH_CHARS = 20_000;
/** The maximum for the output of a command, if the response does not state one. */
const CLAUDE_OUTPUT_CHARS = 30_000;
const CLAUDE_PREVIEW_BYTES = 2000;

/** The output of a command as Claude Code shows it to the model. `stored`: the file that holds the whole output. */
function claudeOutput(stdout: string, stored: string | undefined): string {
  return stored !== undefined || stdout.length > CLAUDE_OUTPUT_CHARS ? claudePreview(stdout) : stdout;
}

/** The result of a search as Claude Code shows it to the model. The response does not say if it was stored. */
function claudeSearch(content: string): string {
  return content.length > CLAUDE_SEARCH_CHARS ? claudePreview(content) : content;
}

function claudePreview(text: string): string {
  const bytes = Buffer.from(text.slice(0, CLAUDE_PREVIEW_BYTES), 'utf8').subarray(0, CLAUDE_PREVIEW_BYTES);
  return bytes.subarray(0, bytes.lastIndexOf('\n') + 1).toString('utf8');
}

/** The default of Gemini CLI's setting `tools.truncateToolOutputThreshold`. Longer outputs are cut. */
const GEMINI_CHARS = 40_000;
const GEMINI_HEAD_CHARS = 8000;
/** A line that is in no file, so that the lines before and after the gap do not look adjacent. */
const GAP = '\n\0\n';

/** The output of a command, with the text around it, as Gemini CLI shows it: without its middle if it is long. */
function geminiCut(text: string): string {
  if (text.length <= GEMINI_CHARS) return text;
  const head = text.slice(0, GEMINI_HEAD_CHARS);
  const tail = text.slice(GEMINI_HEAD_CHARS - GEMINI_CHARS);
  // Drop the line that the cut divides. Its halves could equal other lines.
  return `${head.slice(0, head.lastIndexOf('\n'))}${GAP}${tail.slice(tail.indexOf('\n') + 1)}`;
}

/**
 * Over this many characters, VS Code stores a text result in a file and shows the model only the
 * file's name. No limit of Cursor is known, so the same one is assumed.
 */
const CERTAIN_CHARS = 8192;

/** A text result as far as VS Code or Cursor certainly shows it to the model. */
function certainText(text: string): string {
  return text.length > CERTAIN_CHARS ? '' : text;
}
