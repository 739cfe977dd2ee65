import type { ToolTraits } from '../dialect/calls/infer.ts';
import { recognise } from '../dialect/calls/servers/known-servers.ts';
import type { Rule, ServerTable } from '../dialect/calls/table.ts';
import { guessWords } from '../dialect/calls/tool-words.ts';
import { fieldOf, isRecord } from '../model/record.ts';
import type { ToolNames } from '../report/tool-names.ts';

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/**
 * Facts about the server behind the proxy (upstream), from the messages so far: its name, its
 * tools, and the tables that describe what these tools do.
 */
export class Catalogue {
  readonly #known: readonly ServerTable[];
  readonly #own: readonly ServerTable[];
  readonly #tools = new Map<string, ToolTraits>();
  #name: string | undefined;
  #listed = false;
  #fitting: readonly ServerTable[] = [];
  /** The tables that describe this server, with the user's own first. */
  #describing: readonly ServerTable[] = [];

  /**
   * `own`: the tables in the user's policy. For a tool that they describe, they take precedence
   * over tables in `known` that fit the server better.
   */
  constructor(known: readonly ServerTable[], own: readonly ServerTable[] = []) {
    this.#known = known;
    this.#own = own;
  }

  /**
   * Reads the server's name from a result. In MCP revision 2026-07-28, any result may contain the
   * name; in earlier ones, the result of `initialize`.
   */
  sawServer(result: unknown): void {
    const meta = fieldOf(result, '_meta');
    const info = isRecord(meta) ? meta[SERVER_INFO] : undefined;
    const name = fieldOf(result, 'serverInfo.name') ?? fieldOf(info, 'name');
    if (typeof name !== 'string') return;
    this.#name = name;
    this.#recognise();
  }

  /**
   * Reads one page of a tool list. Tools that the server no longer lists are kept, which is
   * harmless: clients do not call them.
   */
  sawTools(result: unknown): void {
    const tools = fieldOf(result, 'tools');
    if (!Array.isArray(tools)) return;
    this.sawServer(result);
    this.#listed = true;
    for (const tool of tools) {
      const traits = traitsIn(tool);
      if (traits !== undefined) this.#tools.set(traits.name, traits);
    }
    this.#recognise();
  }

  /**
   * The table that fits the server best. It defines how the server interprets paths, and how it
   * words its errors.
   */
  get table(): ServerTable | undefined {
    return this.#fitting[0];
  }

  get serverName(): string {
    return this.#name ?? this.table?.id ?? 'the upstream server';
  }

  get words(): ToolNames {
    return this.table?.words ?? guessWords([...this.#tools.keys()]);
  }

  /** The rules of a tool, if a matching table describes it. */
  rulesOf(tool: string): readonly Rule[] | undefined {
    for (const table of this.#describing) if (Object.hasOwn(table.tools, tool)) return table.tools[tool];
    return undefined;
  }

  traitsOf(tool: string): ToolTraits {
    return this.#tools.get(tool) ?? { name: tool };
  }

  #recognise(): void {
    const traits = {
      ...(this.#name === undefined ? {} : { name: this.#name }),
      ...(this.#listed ? { tools: [...this.#tools.keys()] } : {}),
    };
    this.#fitting = recognise(traits, [...this.#own, ...this.#known]);
    this.#describing = [...recognise(traits, this.#own), ...this.#fitting];
  }
}

function traitsIn(tool: unknown): ToolTraits | undefined {
  if (!isRecord(tool) || typeof tool['name'] !== 'string') return undefined;
  const readOnly = fieldOf(tool, 'annotations.readOnlyHint');
  return {
    name: tool['name'],
    ...(typeof readOnly === 'boolean' ? { readOnly } : {}),
  };
}
