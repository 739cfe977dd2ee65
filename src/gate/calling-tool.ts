import { AsyncLocalStorage } from 'node:async_hooks';

const calling = new AsyncLocalStorage<string>();

/** Runs a call on behalf of a named tool, so that a bypass limited to certain tools can recognise it. */
export function runAsTool<T>(tool: string, call: () => T): T {
  return calling.run(tool, call);
}

/** The tool whose call is running. Undefined for library calls and for adapters that name no tool. */
export function callingTool(): string | undefined {
  return calling.getStore();
}
