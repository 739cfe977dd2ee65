/** What a tool promises whose answer is one text, given twice: as content and as structured content. */
export const TEXT_OUTPUT: { readonly type: 'object'; readonly [key: string]: unknown } = {
  type: 'object',
  properties: { content: { type: 'string' } },
  required: ['content'],
  additionalProperties: false,
};
