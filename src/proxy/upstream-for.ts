import type { Writable } from 'node:stream';
import { Fault } from '../model/fault.ts';
import type { Upstream, UpstreamChoice } from './upstream.ts';
import { HttpUpstream } from './upstream-http.ts';
import { StdioUpstream } from './upstream-stdio.ts';

/** The server that was chosen. Throws a Fault if neither a command nor a URL was. */
export function upstreamFor(
  choice: UpstreamChoice & { readonly stderr: Writable },
  maxBytes: number,
): Upstream {
  const { url, headers = {}, command } = choice;
  if (url !== undefined) return new HttpUpstream({ url, headers, maxBytes });
  if (command === undefined) throw new Fault('MISUSE', 'the proxy needs a command or a URL');
  return new StdioUpstream({ ...choice, command, maxBytes });
}
