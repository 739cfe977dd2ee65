/** The result of one check. `warn`: it works with restrictions. */
export interface DoctorCheck {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
}

export function ok(name: string, message: string): DoctorCheck {
  return { name, status: 'ok', message };
}

export function warn(name: string, message: string): DoctorCheck {
  return { name, status: 'warn', message };
}

export function fail(name: string, message: string): DoctorCheck {
  return { name, status: 'fail', message };
}

/** The error in one line. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
