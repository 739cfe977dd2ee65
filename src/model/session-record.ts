/** What a store remembers of a session besides its sightings. */
export interface SessionRecord {
  readonly id: string;
  readonly root: string;
  /** Named by host or user: kept when closed, so that it can be resumed. */
  readonly named: boolean;
  /** The program that works in it, such as `claude-code`, if it introduced itself. */
  readonly client?: string;
  readonly parent?: string;
  /** A copy of its parent, not a sub-agent of it. */
  readonly forked?: true;
  readonly openedMs: number;
  readonly lastMs: number;
  readonly closedMs?: number;
  /** The processes that have it open, or had it open when they died. */
  readonly openIn?: readonly string[];
}
