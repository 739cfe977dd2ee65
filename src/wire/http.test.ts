import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkToken, listenLocally } from './http.ts';

it('listenLocally: promises clients to keep an unused connection for more than a minute', async () => {
  const server = createServer((_req, res) => res.end());
  onTestFinished(() => void server.close());
  const port = await listenLocally(server, 0);
  const { headers } = await fetch(`http://127.0.0.1:${port}/`);
  expect(headers.get('keep-alive')).toBe('timeout=75');
});

describe('checkToken', () => {
  it.each(['Bearer s3cret', 'bearer s3cret', 'Bearer   s3cret '])('accepts %j', (authorization) => {
    expect(checkToken(authorization, 's3cret')).toBeUndefined();
  });

  it.each([
    undefined,
    '',
    's3cret',
    'Bearer',
    'Bearer ',
    'Bearer s3cre',
    'Bearer s3crett',
    'Bearer S3CRET',
    'Bearer s3cret x',
    'Basic s3cret',
    'xBearer s3cret',
  ])('refuses %j with a challenge', (authorization) => {
    expect(checkToken(authorization, 's3cret')).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.stringMatching(/^Bearer/) },
    });
  });

  it('never accepts an empty token', () => {
    expect(checkToken('Bearer ', '')).toMatchObject({ status: 401 });
    expect(checkToken(undefined, '')).toMatchObject({ status: 401 });
  });
});
