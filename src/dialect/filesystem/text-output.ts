/** Output schema of tools that return one text, both as content and as structured content. */
export const TEXT_OUTPUT: { readonly type: 'object'; readonly [key: string]: unknown } = {
  type: 'object',
  properties: { content: { type: 'string' } },
  required: ['content'],
  additionalProperties: false,
};
