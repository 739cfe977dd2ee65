import { isRecord, type JsonRecord } from '../../model/record.ts';

type Check = (value: unknown) => boolean;
interface Shape {
  readonly required: Readonly<Record<string, Check>>;
  readonly optional: Readonly<Record<string, Check>>;
}

const text: Check = (value) => typeof value === 'string';
const flag: Check = (value) => typeof value === 'boolean';
const isTrue: Check = (value) => value === true;
const number: Check = (value) => typeof value === 'number';
const zeroOrOne: Check = (value) => value === 0 || value === 1;
const strings: Check = (value) => Array.isArray(value) && value.every(text);
const textOrStrings: Check = (value) => text(value) || strings(value);
const scalars: Check = (value) =>
  Array.isArray(value) && value.every((item) => text(item) || flag(item) || number(item));

const CONDITION = shape({ argument: text }, { is: scalars, inItem: isTrue });
const conditions: Check = (value) => Array.isArray(value) && value.every(fits(CONDITION));
const LINES = shape(
  {},
  {
    each: text,
    head: text,
    tail: text,
    from: text,
    to: text,
    count: text,
    firstLine: zeroOrOne,
    defaultCount: number,
  },
);
const AFTER = shape({ argument: text, plus: number }, {});
const EDIT = shape(
  { old: text, new: text },
  { each: text, all: text, allByDefault: flag, occurrences: text, loosely: conditions },
);
const DECORATION = { header: text, footers: strings };
const SHOWN: Readonly<Record<string, Shape>> = {
  verbatim: shape({ as: text }, DECORATION),
  sections: shape(
    { as: text, open: text, failed: text, close: text, between: text },
    { ...DECORATION, aloneVerbatim: isTrue },
  ),
  blocks: shape({ as: text, open: text }, DECORATION),
  json: shape(
    { as: text, content: text },
    { items: text, path: text, from: text, firstLine: zeroOrOne, more: textOrStrings, zero: text },
  ),
  described: shape({ as: text }, {}),
  diff: shape({ as: text }, {}),
};
const shown: Check = (value) => {
  const wanted = isRecord(value) && typeof value['as'] === 'string' ? SHOWN[value['as']] : undefined;
  return wanted !== undefined && fits(wanted)(value);
};

const PATH = { path: text };
const RULES: Readonly<Record<string, Shape>> = {
  look: shape(PATH, { orName: isTrue }),
  list: shape(PATH, {}),
  mkdir: shape(PATH, {}),
  read: shape({ ...PATH, shown }, { lines: fits(LINES) }),
  write: shape({ ...PATH, content: text }, {}),
  edit: shape({ ...PATH, edit: fits(EDIT) }, {}),
  insert: shape({ ...PATH, content: text }, { after: fits(AFTER) }),
  touch: shape(PATH, { lines: fits(LINES) }),
  delete: shape(PATH, { recursive: text }),
  move: shape({ source: text, destination: text }, { taken: text }),
  copy: shape({ source: text, destination: text }, {}),
  run: shape({ command: text }, {}),
  unknown: shape({}, {}),
  nothing: shape({}, {}),
};
const SCOPE = { each: text, when: fits(CONDITION), unless: fits(CONDITION) };

/** Checks that an object is a Rule; returns one sentence for each problem. */
export function ruleProblems(rule: JsonRecord, at: string): string[] {
  const does = rule['does'];
  const wanted = typeof does === 'string' ? RULES[does] : undefined;
  if (wanted === undefined) return [`${at}.does: must be one of ${Object.keys(RULES).join(', ')}`];
  const required = { does: text, ...wanted.required };
  const optional = { ...SCOPE, ...wanted.optional };
  return [
    ...Object.keys(rule)
      .filter((key) => !(key in required) && !(key in optional))
      .map((key) => `${at}.${key}: unknown field of a rule that does "${does}"`),
    ...Object.entries(required)
      .filter(([key, check]) => !check(rule[key]))
      .map(([key]) => `${at}.${key}: missing or not of its form`),
    ...Object.entries(optional)
      .filter(([key, check]) => key in rule && !check(rule[key]))
      .map(([key]) => `${at}.${key}: not of its form`),
  ];
}

function shape(required: Shape['required'], optional: Shape['optional']): Shape {
  return { required, optional };
}

function fits(wanted: Shape): Check {
  return (value) =>
    isRecord(value) &&
    Object.keys(value).every((key) => key in wanted.required || key in wanted.optional) &&
    Object.entries(wanted.required).every(([key, check]) => check(value[key])) &&
    Object.entries(wanted.optional).every(([key, check]) => !(key in value) || check(value[key]));
}
