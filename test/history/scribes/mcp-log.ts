import { Calls, ownArguments, ownText, type Scribe, type ScribeKind } from '../scribe.ts';
import type { ResultStep, Step } from '../step.ts';

/** Writes conversations as a log of the messages between a client and our own server. */
export const MCP_LOG: ScribeKind = { format: 'mcp-log', name: 'mcp-log', open: () => new McpScribe() };

class McpScribe implements Scribe {
  readonly #calls = new Calls();

  write(step: Step): readonly object[] | undefined {
    if (step.do === 'call') {
      if (step.tool === 'shell') return undefined;
      this.#calls.note(step);
      const { name, args } = ownArguments(step);
      return [logged({ id: step.id, method: 'tools/call', params: { name, arguments: args } })];
    }
    if (step.do !== 'result') return undefined;
    if (step.is === 'denied') return [logged({ id: step.id, error: { code: -32000, message: 'denied' } })];
    return [logged({ id: step.id, result: this.#result(step) })];
  }

  #result(step: ResultStep): object {
    const content = [{ type: 'text', text: ownText(this.#calls, step) }];
    const ok = step.is !== 'error';
    const _meta = { 'dev.lookfirst/outcome': { ok } };
    return ok ? { content, _meta } : { content, isError: true, _meta };
  }
}

function logged(message: object): object {
  return { atMs: 1_767_323_045_678, message: { jsonrpc: '2.0', ...message } };
}
