import type { JsonRecord } from '../model/record.ts';
import { idOfRequest } from './call.ts';
import { type InterceptOptions, inWords } from './intercept-options.ts';
import { upstreamPath } from './paths.ts';
import { errorLine, INTERNAL_ERROR, INVALID_PARAMS, paramsOf, rpcMeta } from './rpc.ts';
import type { Wire } from './wire.ts';

/** Matches `..` in a URL. It is ambiguous, because some servers follow links before they apply it. */
const CLIMBS = /(^|[/\\:]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i;

/** The URL of a `resources/read`, if it is that of a file. */
export function fileAddress(message: JsonRecord): string | undefined {
  const uri = paramsOf(message)['uri'];
  return typeof uri === 'string' && /^file:/i.test(uri) ? uri : undefined;
}

/** Forwards a read of a `file:` URL inside the workspace; answers any other with an error. */
export async function readResource(
  options: Pick<InterceptOptions, 'session' | 'wording' | 'catalogue' | 'where' | 'log'>,
  wire: Wire,
  request: { readonly line: Buffer; readonly message: JsonRecord; readonly uri: string },
): Promise<void> {
  const { line, message, uri } = request;
  const id = idOfRequest(line, message)?.id ?? 'null';
  if (CLIMBS.test(uri)) {
    wire.toClient(errorLine(id, INVALID_PARAMS, 'an address of a file may not have ".." in it'));
    return;
  }
  let ended: (() => void) | undefined;
  try {
    const session = await options.session(rpcMeta(message));
    ended = session.ended;
    // Some servers decode the URL, others only remove its scheme: the path must be inside either way.
    const reading = { relativeTo: 'cwd', expandsHome: true, cwd: options.where.cwd } as const;
    for (const path of [upstreamPath(uri, reading), uri.replace(/^file:(\/\/)?/i, '')]) {
      const located = await session.locate(path, 'read');
      if (located.ok) continue;
      const text = inWords(located.refusal, options);
      return wire.toClient(errorLine(id, INVALID_PARAMS, text));
    }
    wire.toUpstream(line);
  } catch (error) {
    options.log(`refused ${uri}, because the check failed: ${String(error)}`);
    wire.toClient(errorLine(id, INTERNAL_ERROR, 'The check itself failed, so this read was refused.'));
  } finally {
    ended?.();
  }
}
