/**
 * The subset of JSON Schema that Lookfirst's tools use: plain objects that clients get unchanged.
 */
export type JsonSchema =
  | ({ readonly type: 'string'; readonly enum?: readonly string[]; readonly default?: string } & Described)
  | ({
      readonly type: 'number' | 'integer';
      readonly minimum?: number;
      readonly maximum?: number;
    } & Described)
  | ({ readonly type: 'boolean'; readonly default?: boolean } & Described)
  | ({ readonly type: 'array'; readonly items: JsonSchema; readonly minItems?: number } & Described)
  | ObjectSchema;

interface Described {
  readonly description?: string;
  readonly default?: unknown;
}

/** An object with these properties and no others. */
export interface ObjectSchema extends Described {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

/** The type of the values a schema accepts. */
export type ValueOf<S> = S extends { type: 'string'; enum: readonly (infer E)[] }
  ? E
  : S extends { type: 'string' }
    ? string
    : S extends { type: 'number' | 'integer' }
      ? number
      : S extends { type: 'boolean' }
        ? boolean
        : S extends { type: 'array'; items: infer I }
          ? readonly ValueOf<I>[]
          : S extends { type: 'object'; properties: infer P }
            ? Members<P, S extends { required: readonly (infer R)[] } ? R : never>
            : never;

type Members<P, Required> = {
  readonly [K in keyof P as K extends Required ? K : never]: ValueOf<P[K]>;
} & {
  readonly [K in keyof P as K extends Required ? never : K]?: ValueOf<P[K]>;
};
