import type { Rule } from '../dialect/calls/table.ts';
import type { LineRange } from '../model/coverage.ts';
import type { ReadReceipt } from '../model/host-session.ts';
import type { HostIntent } from '../model/intent.ts';
import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { paramsOf } from '../wire/rpc.ts';

/**
 * The argument in which the agent repeats the revision from a receipt (the line that the proxy adds
 * to the answer of a read), to prove what it has read.
 */
const REVISION_ARGUMENT = 'expected_revision';

const ARGUMENT = {
  type: 'string',
  description:
    'The revision from the receipt of your last read of this file; the change is then made only if the file is still the same.',
};
const RECEIPT = ' The answer ends with a receipt line: [read PATH lines A-B of N revision R].';

type RulesOf = (tool: string) => readonly Rule[] | undefined;

/**
 * Describes receipts in a tool list. Tools that read mention the receipt line at the end of their
 * answers. Tools that change files get an argument in which the agent passes back the revision from
 * that line.
 */
export function withReceiptTools(result: JsonRecord, rulesOf: RulesOf): JsonRecord {
  const { tools } = result;
  if (!Array.isArray(tools)) return result;
  return {
    ...result,
    tools: tools.map((tool: unknown) => (isRecord(tool) ? receiptTool(tool, rulesOf) : tool)),
  };
}

function receiptTool(tool: JsonRecord, rulesOf: RulesOf): JsonRecord {
  const rules = typeof tool['name'] === 'string' ? (rulesOf(tool['name']) ?? []) : [];
  // A tool that both changes and shows, such as an edit with a dry run, takes a revision and gives no receipt.
  if (!takesRevision(rules) && rules.some((rule) => rule.does === 'read')) {
    const description = typeof tool['description'] === 'string' ? tool['description'] : '';
    return { ...tool, description: `${description}${RECEIPT}` };
  }
  const schema = tool['inputSchema'];
  if (!takesRevision(rules) || !isRecord(schema)) return tool;
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  if (REVISION_ARGUMENT in properties) return tool;
  return {
    ...tool,
    inputSchema: { ...schema, properties: { ...properties, [REVISION_ARGUMENT]: ARGUMENT } },
  };
}

/** Removes the revision argument, which the server does not know, from a call, and returns it. */
export function withoutRevision(
  message: JsonRecord,
  rules: readonly Rule[] | undefined,
): { readonly message: JsonRecord; readonly revision: string | undefined } {
  const args = fieldOf(message, 'params.arguments');
  const revision = isRecord(args) ? args[REVISION_ARGUMENT] : undefined;
  if (!isRecord(args) || typeof revision !== 'string' || !takesRevision(rules ?? []))
    return { message, revision: undefined };
  const { [REVISION_ARGUMENT]: _taken, ...rest } = args;
  return { message: { ...message, params: { ...paramsOf(message), arguments: rest } }, revision };
}

/**
 * Adds the revision to a change, as proof that its author has read the file. Only a change of a
 * single file can have one.
 */
export function withRevision(intents: readonly HostIntent[], revision: string | undefined): HostIntent[] {
  const [only] = intents;
  if (revision === undefined || only === undefined || intents.length > 1) return [...intents];
  const takes = only.kind === 'write' || only.kind === 'edit' || only.kind === 'insert';
  return takes ? [{ ...only, expectedRevision: revision }] : [only];
}

function takesRevision(rules: readonly Rule[]): boolean {
  return rules.some((rule) => rule.does === 'write' || rule.does === 'edit' || rule.does === 'insert');
}

/** The line about a file that was read: `[read PATH lines A-B of N revision R]`, with the parts that are known. */
export function receiptLine(
  path: string,
  range: LineRange | undefined,
  { totalLines: total, revision }: ReadReceipt,
): string {
  const { from, to } = range ?? { from: Math.min(1, total ?? 1), to: total ?? 0 };
  const which = total === undefined ? '' : ` lines ${linesOf({ from, to }, total)} of ${total}`;
  return `[read ${path}${which}${revision === undefined ? '' : ` revision ${revision}`}]`;
}

function linesOf(range: { readonly from: number; readonly to: number }, total: number): string {
  const from = range.from < 0 ? total + 1 + range.from : range.from;
  const to = range.to < 0 ? total + 1 + range.to : Math.min(range.to, total);
  return `${from}-${to}`;
}
