/** Applies an edit to a text; undefined if the engine refuses the edit. */
export type Engine = (text: string, oldString: string, newString: string) => string | undefined;

export interface Group {
  readonly kind: string;
  readonly cases: readonly {
    readonly before: string;
    readonly after?: string;
    readonly oldString: string;
    readonly newString: string;
  }[];
}

export interface Row {
  readonly kind: string;
  readonly right: number;
  readonly damaged: number;
  readonly refused: number;
  readonly wrong: number;
}

export function corpus(): {
  readonly hunks: number;
  readonly kinds: readonly Group[];
  readonly refusals: readonly Group[];
};
export function score(engine: Engine, groups: readonly Group[]): readonly Row[];
