import { AsyncLocalStorage } from 'node:async_hooks';

const calling = new AsyncLocalStorage<string>();

/** Runs a call in the name of a tool, so that a bypass for tools can know it. */
export function runAsTool<T>(tool: string, call: () => T): T {
  return calling.run(tool, call);
}

/** The tool whose call is under way; undefined for the library and where no door named one. */
export function callingTool(): string | undefined {
  return calling.getStore();
}
