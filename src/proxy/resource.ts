import type { JsonRecord } from '../model/record.ts';
import { errorLine, INTERNAL_ERROR, INVALID_PARAMS, idKey, paramsOf, rpcMeta } from '../wire/rpc.ts';
import { inWords } from './answers.ts';
import type { Ends } from './calls.ts';
import type { GateSettings } from './gate-settings.ts';
import { upstreamPath } from './upstream-paths.ts';

/**
 * Matches a URL that contains `..`. Such a URL is refused as ambiguous, because some servers follow
 * links before they apply `..`.
 */
const CLIMBS = /(^|[/\\:]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i;

/**
 * The `file:` URL of a `resources/read`; undefined for any other URL. Removes the characters that
 * URL parsers ignore: spaces and control characters before the URL, tabs and newlines anywhere.
 */
export function fileAddress(message: JsonRecord): string | undefined {
  const uri = paramsOf(message)['uri'];
  if (typeof uri !== 'string') return undefined;
  const plain = uri.replace(/^[\0-\x20]+|[\t\n\r]/g, '');
  return /^file:/i.test(plain) ? plain : undefined;
}

/** Forwards a read of a `file:` URL if the file is inside the workspace. Otherwise answers with an error. */
export async function readResource(
  options: Pick<GateSettings, 'session' | 'wording' | 'catalogue' | 'where' | 'log'>,
  wire: Ends,
  request: { readonly line: Buffer; readonly message: JsonRecord; readonly uri: string },
): Promise<void> {
  const { line, message, uri } = request;
  const id = idKey(message['id']) ?? 'null';
  if (CLIMBS.test(uri)) {
    wire.toClient(errorLine(id, INVALID_PARAMS, 'the URL of a file may not contain ".."'));
    return;
  }
  let ended: (() => void) | undefined;
  try {
    const session = await options.session(rpcMeta(message));
    ended = session.ended;
    // Check two forms of the path, because some servers decode the URL and others only remove its
    // scheme. Both forms must be inside the workspace.
    const reading = { relativeTo: 'cwd', expandsHome: true, cwd: options.where.cwd } as const;
    for (const path of [upstreamPath(uri, reading), uri.replace(/^file:(\/\/)?/i, '')]) {
      const located = await session.locate(path, 'read');
      if (located.ok) continue;
      const text = inWords(located.refusal, options);
      wire.toClient(errorLine(id, INVALID_PARAMS, text));
      return;
    }
    wire.toUpstream(line);
  } catch (error) {
    options.log(`refused ${uri}, because the check failed: ${String(error)}`);
    wire.toClient(errorLine(id, INTERNAL_ERROR, 'The check itself failed, so this read was refused.'));
  } finally {
    ended?.();
  }
}
