import { describe, expect, it } from 'vitest';
import { checkToken } from './http.ts';

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
