/**
 * A value or a promise of it. For calls so frequent that an extra turn of the event loop would cost more than the call
 * itself.
 */
export type Awaitable<T> = T | Promise<T>;

/** Passes the value to `next`: immediately if it is available, otherwise when the promise resolves. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
