import { isRecord, type JsonRecord, objectIn, stringIn } from '../../../model/record.ts';
import { type Answer, mcpAnswer } from '../answer.ts';
import { codexOutput, geminiOutput } from './command-output.ts';
import { claudePage, geminiPage, opencodePage } from './recorded-page.ts';

const FAILED: Answer = { ok: false, flagged: true };

/**
 * Builds an answer from what a host passes to a hook after a call: `tool_response`, or opencode's `output`. Responses
 * of unknown hosts are read as MCP results or plain texts.
 */
export function answerFor(host: string, response: unknown): Answer {
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

/** For a shell command a hook gets only the output, without exit code; for other tools it also gets the header. */
function codexAnswer(text: string): Answer {
  const command = codexOutput(text);
  if (command === undefined) return { ...textAnswer(text), output: text };
  return { ok: command.ok, flagged: true, texts: [text], output: command.stdout };
}

/** `{type: "text", file}` of a read, `{stdout, stderr}` of a command, the file around an edit. */
function claudeAnswer(response: JsonRecord): Answer {
  const file = objectIn(response, 'file');
  if (file !== undefined && response['type'] === 'text')
    return { ok: true, flagged: true, page: claudePage(file), countsEmptyEnd: true };
  if (file !== undefined) return { ok: true, flagged: true, texts: [], media: true };
  const stdout = stringIn(response, 'stdout');
  if (stdout !== undefined)
    return { ok: response['interrupted'] !== true, flagged: true, texts: [stdout], output: stdout };
  // `{mode: "content", filenames, content}` of a search.
  const content = stringIn(response, 'content');
  return { ok: true, flagged: true, texts: content === undefined ? [] : [content] };
}

const CONTEXT = /^<untrusted_context>\n([\s\S]*?)\n<\/untrusted_context>$/;

/** `{llmContent, returnDisplay, error}`; output of other programs is wrapped in a frame. */
function geminiAnswer(response: JsonRecord): Answer {
  if ((response['error'] ?? null) !== null) return FAILED;
  const { llmContent } = response;
  if (typeof llmContent !== 'string') {
    const answer = mcpAnswer(llmContent);
    return { ...answer, texts: (answer.texts ?? []).map((text) => CONTEXT.exec(text)?.[1] ?? text) };
  }
  const page = geminiPage(llmContent);
  if (page !== undefined) return { ok: true, flagged: true, texts: [llmContent], page };
  const command = geminiOutput(llmContent);
  if (command === undefined) return textAnswer(llmContent);
  return { ok: true, flagged: true, texts: [llmContent], output: command.stdout };
}

/** `{output, metadata}`. */
function opencodeAnswer(response: JsonRecord): Answer {
  const text = stringIn(response, 'output');
  const metadata = objectIn(response, 'metadata') ?? {};
  const output = stringIn(metadata, 'output');
  return {
    ok: true,
    flagged: true,
    texts: text === undefined ? [] : [text],
    page: opencodePage(metadata),
    ...(output === undefined ? {} : { output }),
  };
}

/** Cursor and VS Code, according to their documentation: the text is in one of the usual fields. */
function plainAnswer(response: JsonRecord): Answer {
  for (const name of ['output', 'text', 'stdout', 'content', 'result']) {
    const text = stringIn(response, name);
    if (text !== undefined) return { ...textAnswer(text), output: text };
  }
  return { ok: (response['error'] ?? null) === null, flagged: true, texts: [] };
}
