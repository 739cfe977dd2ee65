/** What a look at one thing found. `warn`: it works, with less than could be had. */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
}

export function ok(name: string, message: string): Check {
  return { name, status: 'ok', message };
}

export function warn(name: string, message: string): Check {
  return { name, status: 'warn', message };
}

export function fail(name: string, message: string): Check {
  return { name, status: 'fail', message };
}

/** What went wrong, in one line. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
