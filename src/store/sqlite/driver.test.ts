import { expect, it } from 'vitest';
import { storeFault } from './driver.ts';

it.each([
  ['database or disk is full', 13, 'full'],
  ['disk I/O error', 4874, 'full'],
  ['disk I/O error', 266, undefined],
  ['database is locked', 261, 'busy'],
  ['database disk image is malformed', 779, 'damaged'],
  ['database is locked', undefined, 'busy'],
])('the error "%s" with the code %s has the reason %s', (message, errcode, reason) => {
  const error = Object.assign(new Error(message), errcode === undefined ? {} : { errcode });
  expect(storeFault(error, '/state.db')).toMatchObject({ code: 'STORE_FAILED', reason });
});
