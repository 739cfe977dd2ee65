/**
 * The result of one check. `ok`: it works. `warn`: it works with restrictions. `fail`: it does not
 * work.
 */
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
