import type { IncomingMessage } from 'node:http';

/** The path of a request and what follows it, `?` included. By hand: what clients may send need not be an address. */
export function addressOf({ url = '/' }: IncomingMessage): {
  readonly path: string;
  readonly search: string;
} {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark) };
}
