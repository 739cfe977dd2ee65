import { mcpAnswer } from '../dialect/calls/answer.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import type { AnswerContent, ForeignSession } from '../model/foreign-session.ts';
import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { type CallMeaning, callPaths } from './understand.ts';

/** The response to a call with secrets masked. Returns `response` itself if nothing is masked. */
export async function maskedResponse(
  session: ForeignSession,
  meaning: CallMeaning,
  response: JsonRecord,
): Promise<JsonRecord> {
  const texts: string[] = [];
  mapTexts(response, (text) => {
    texts.push(text);
    return text;
  });
  const shown = await session.mask(texts, contentOf(meaning));
  if (shown.every((text, index) => text === texts[index])) return response;
  let next = 0;
  return mapTexts(response, () => shown[next++] ?? '');
}

/** The paths of files of which the masked response shows less than the original one. */
export function redactedPaths(
  { touches }: CallMeaning,
  original: unknown,
  masked: unknown,
): ReadonlySet<string> {
  const shownBy = (response: unknown) => shownLines(touches, mcpAnswer(fieldOf(response, 'result.content')));
  const texts = new Map(shownBy(masked).map(({ path, content }) => [path, content]));
  return new Set(
    shownBy(original).flatMap(({ path, content }) => (texts.get(path) === content ? [] : [path])),
  );
}

function contentOf(meaning: CallMeaning): AnswerContent {
  const { touches, unexplained } = meaning;
  const [only, ...more] = touches;
  if (only?.does === 'read' && more.length === 0 && !unexplained)
    return {
      kind: 'file',
      path: meaning.place(only.path),
      extent: only.asked === undefined && !meaning.guessed ? 'whole' : 'part',
    };
  const isBound = !unexplained && touches.every(({ does }) => does === 'read' || does === 'change');
  return { kind: isBound ? 'files' : 'output', paths: callPaths(meaning) };
}

/** Keys of values that are encoded bytes, not text. */
const ENCODED = new Set(['data', 'blob']);

/** A copy of a response with every text in its result or error replaced, in a fixed order. */
function mapTexts(response: JsonRecord, replace: (text: string) => string): JsonRecord {
  const { result, error, ...rest } = response;
  const inner = (value: unknown): unknown => {
    if (typeof value === 'string') return replace(value);
    if (Array.isArray(value)) return value.map(inner);
    if (!isRecord(value)) return value;
    const isEncoded = typeof value['mimeType'] === 'string';
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => [
        key,
        isEncoded && ENCODED.has(key) ? field : inner(field),
      ]),
    );
  };
  return {
    ...rest,
    ...(result === undefined ? {} : { result: inner(result) }),
    ...(error === undefined ? {} : { error: inner(error) }),
  };
}
