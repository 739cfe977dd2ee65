import { eolOf, type Splice } from './edit.ts';
import { endsInLineComment, skipJsonBlanks } from './json-scan.ts';
import { compact, type JsonStyle, type JsonValue, pretty } from './json-style.ts';
import type { MemberNode, ObjectNode } from './node.ts';

interface NewMember {
  readonly key: string;
  /**
   * Returns the member's value as text. `indent`: the indentation of the member's line, or
   * undefined to write the value on one line.
   */
  readonly write: (indent: string | undefined) => string;
}

/** Makes a member whose value is written in the layout of the text around it. */
export function newMember(key: string, value: JsonValue, style: JsonStyle): NewMember {
  return {
    key,
    write: (indent) => (indent === undefined ? compact(value) : pretty(value, style, indent)),
  };
}

/**
 * Adds a member before the first one, in the layout of the existing members. The text after the
 * last member (comma, comment) stays unchanged. For an empty object, use `fillEmpty`.
 */
export function insertFirst(text: string, object: ObjectNode, member: NewMember): Splice {
  const at = afterOpening(text, object);
  const firstFrom = object.members[0]?.from ?? at;
  const gap = text.slice(at, firstFrom);
  const key = `${JSON.stringify(member.key)}: `;
  if (!gap.includes('\n')) {
    const lead = /^[ \t]*/.exec(gap)?.[0] ?? '';
    return { from: at, to: at, put: `${lead}${key}${member.write(undefined)},` };
  }
  const line = text.slice(text.lastIndexOf('\n', firstFrom - 1) + 1, firstFrom);
  const indent = /^[ \t]*/.exec(line)?.[0] ?? '';
  return { from: at, to: at, put: `${eolOf(text)}${indent}${key}${member.write(indent)},` };
}

/** Puts a member's text into an empty object, right after the opening brace. */
export function fillEmpty(object: ObjectNode, written: string): Splice {
  return { from: object.from + 1, to: object.from + 1, put: written };
}

/**
 * Removes a member, one comma, and the blanks and one line break before the member. Comments and
 * empty lines stay. The exact reverse of `insertFirst` and `fillEmpty`.
 */
export function removeMember(text: string, object: ObjectNode, member: MemberNode): Splice[] {
  const previous = object.members[object.members.indexOf(member) - 1];
  const from = cutFrom(text, member, previous?.value.to ?? object.from + 1);
  const after = skipJsonBlanks(text, member.value.to);
  if (text[after] === ',') {
    if (after === member.value.to) return [{ from, to: after + 1, put: '' }];
    return [
      { from, to: member.value.to, put: '' },
      { from: after, to: after + 1, put: '' },
    ];
  }
  const cut = { from, to: member.value.to, put: '' };
  if (previous === undefined) return [cut];
  const comma = skipJsonBlanks(text, previous.value.to);
  return comma === from - 1 ? [{ ...cut, from: comma }] : [{ from: comma, to: comma + 1, put: '' }, cut];
}

/**
 * The position from which a member is cut: before the blanks and one line break that precede the
 * member. The line break stays if it ends a line comment and more text follows on the member's last
 * line, because the comment would otherwise swallow that text. `open`: the end of the previous
 * member or of the opening brace.
 */
function cutFrom(text: string, member: MemberNode, open: number): number {
  const indent = blanksBefore(text, member.from);
  if (text[indent - 1] !== '\n') return indent;
  const lineBreak = text[indent - 2] === '\r' ? indent - 2 : indent - 1;
  const comma = skipJsonBlanks(text, member.value.to);
  const next = text[comma] === ',' ? skipJsonBlanks(text, comma + 1) : comma;
  const isOnItsLine = !text.slice(member.value.to, next).includes('\n');
  return isOnItsLine && endsInLineComment(text, open, lineBreak) ? indent : lineBreak;
}

/**
 * The start of the blanks that end at `to`. Uses a loop: a regular expression that is anchored only
 * at its end would be slow on a text with many blanks.
 */
function blanksBefore(text: string, to: number): number {
  let from = to;
  while (text[from - 1] === ' ' || text[from - 1] === '\t') from -= 1;
  return from;
}

/**
 * The position after the opening brace and after a comment on its line, because such a comment
 * describes the whole object.
 */
function afterOpening(text: string, object: ObjectNode): number {
  const comment = /[ \t]*(?:\/\/[^\r\n]*|\/\*(?:(?!\*\/)[^\r\n])*\*\/(?=[ \t]*[\r\n]))/y;
  comment.lastIndex = object.from + 1;
  return comment.test(text) ? comment.lastIndex : object.from + 1;
}
