export const MAX_SESSION_ID_CHARS = 200;

/** Whether a value can be a session id: printable characters on one line. */
export function isSessionId(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= MAX_SESSION_ID_CHARS &&
    !/[\p{C}\p{Zl}\p{Zp}]/u.test(value)
  );
}
