import type { ToolTraits } from '../dialect/calls/infer.ts';
import { recognise } from '../dialect/calls/servers/known-servers.ts';
import type { Rule, ServerTable } from '../dialect/calls/table.ts';
import { guessWords } from '../dialect/calls/tool-words.ts';
import { fieldOf, isRecord } from '../model/record.ts';
import type { ToolNames } from '../report/tool-names.ts';

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/** What has been learnt of the upstream from the messages that passed: its name, its tools, the tables that fit. */
export class Catalogue {
  readonly #known: readonly ServerTable[];
  readonly #own: readonly ServerTable[];
  readonly #tools = new Map<string, ToolTraits>();
  #name: string | undefined;
  #listed = false;
  #fitting: readonly ServerTable[] = [];
  /** The same, those of the user first. */
  #describing: readonly ServerTable[] = [];

  /** What the user says of a tool counts before what we know of it, however much better our own table fits. */
  constructor(known: readonly ServerTable[], own: readonly ServerTable[] = []) {
    this.#known = known;
    this.#own = own;
  }

  /** Takes the result of `initialize` or `server/discover`, or any result of the era that has the name in all of them. */
  sawServer(result: unknown): void {
    const meta = fieldOf(result, '_meta');
    const info = isRecord(meta) ? meta[SERVER_INFO] : undefined;
    const name = fieldOf(result, 'serverInfo.name') ?? fieldOf(info, 'name');
    if (typeof name !== 'string') return;
    this.#name = name;
    this.#recognise();
  }

  /** Takes one page of a tool list. Tools that have gone since are kept: nobody can call them. */
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

  /** The best fitting table, for its way of reading paths and its words. */
  get table(): ServerTable | undefined {
    return this.#fitting[0];
  }

  get serverName(): string {
    return this.#name ?? this.table?.id ?? 'the upstream server';
  }

  get words(): ToolNames {
    return this.table?.words ?? guessWords([...this.#tools.keys()]);
  }

  /** The rules of a tool that some fitting table describes. */
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
  const openWorld = fieldOf(tool, 'annotations.openWorldHint');
  return {
    name: tool['name'],
    ...(typeof readOnly === 'boolean' ? { readOnly } : {}),
    ...(typeof openWorld === 'boolean' ? { openWorld } : {}),
  };
}
