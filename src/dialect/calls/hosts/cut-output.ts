/** Over this many characters, Claude Code stores a search result in a file and shows the model a preview. */
const CLAUDE_SEARCH_CHARS = 20_000;
/** The maximum for the output of a command, if the response does not state one. */
const CLAUDE_OUTPUT_CHARS = 30_000;
const CLAUDE_PREVIEW_BYTES = 2000;

/** The output of a command as Claude Code shows it to the model. `stored`: the file that holds the whole output. */
export function claudeOutput(stdout: string, stored: string | undefined): string {
  return stored !== undefined || stdout.length > CLAUDE_OUTPUT_CHARS ? claudePreview(stdout) : stdout;
}

/** The result of a search as Claude Code shows it to the model. The response does not say if it was stored. */
export function claudeSearch(content: string): string {
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
export function geminiCut(text: string): string {
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
export function certainText(text: string): string {
  return text.length > CERTAIN_CHARS ? '' : text;
}
