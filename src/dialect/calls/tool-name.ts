const CHANGING = new Set(
  (
    'write edit create delete remove move rename update set put append insert replace patch apply copy save run exec ' +
    'execute start stop kill mkdir touch add modify format sync extract upload send post import install undo restore'
  ).split(' '),
);
const READING = new Set(
  'read get list search find view show cat head tail grep glob stat info tree describe query count diff check exists fetch open ls'.split(
    ' ',
  ),
);

/**
 * Guesses a tool's effect from its name, for servers without annotations. A changing verb anywhere in the
 * name decides.
 */
export function tendencyOf(name: string): 'reads' | 'changes' | 'unclear' {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  if (words.some((word) => CHANGING.has(word))) return 'changes';
  return words.some((word) => READING.has(word)) ? 'reads' : 'unclear';
}
