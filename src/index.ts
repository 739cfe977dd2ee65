import type { Session } from './model/session.ts';
import * as sessions from './session/sessions.ts';

export { DIALECT_NAMES, type DialectName } from './dialect/tool.ts';
export { type DerivedHistory, deriveSightings } from './history/derive.ts';
export { HistoryIndex } from './history/history-index.ts';
export type { HistorySighting } from './history/history-sighting.ts';
export type { Claim, ToldClaim } from './model/claim.ts';
export type { Coverage, LineRange } from './model/coverage.ts';
export type { State } from './model/delta.ts';
export type { EntryKind } from './model/entry.ts';
export { FAULT_CODES, Fault, type FaultCode } from './model/fault.ts';
export type { ApplyIntent, Edit, FileIntent, HostIntent, Intent, TouchIntent } from './model/intent.ts';
export type { Policy, PresetName } from './model/policy.ts';
export type {
  ApplyResult,
  ChangeResult,
  FileStatus,
  FindResult,
  InfoResult,
  ListedEntry,
  ListResult,
  Notice,
  ReadResult,
  ResolveResult,
  RunResult,
  SearchResult,
  StalenessResult,
  StatusResult,
  UndoResult,
  WitnessEvent,
} from './model/results.ts';
export type {
  AnnounceOptions,
  ApplyOptions,
  CallOptions,
  ChangeEnding,
  Command,
  DeleteOptions,
  EditOptions,
  FindOptions,
  InsertOptions,
  ListOptions,
  MoveOptions,
  Patch,
  ReadOptions,
  RunOptions,
  SearchOptions,
  Session,
  UndoSelection,
  WriteOptions,
} from './model/session.ts';
export type { Sighting } from './model/sighting.ts';
export type { FormatName, Resumed, ResumeOptions, Transcript } from './model/transcript.ts';
export type { TurnMark } from './model/turn.ts';
export { type Outcome, REFUSAL_CODES, type Refusal, type RefusalCode } from './model/verdict.ts';
export type { Blame, BlamedLine, LineOrigin } from './records/blame.ts';
export { type AgentTrace, agentTrace } from './records/blame.ts';
export {
  type Journal,
  type JournalOptions,
  openJournal,
  type SessionSighting,
  type SightingFilter,
} from './records/open-journal.ts';
export type { Effect, PublicEntry as Entry } from './records/public-entry.ts';
export { type ExplainOptions, explain } from './report/explain.ts';
export type { ToolNames } from './report/tool-names.ts';
export { currentSession, runInSession } from './session/ambient.ts';
export type { SessionOptions, WorkspaceOptions } from './session/sessions.ts';
export type { EntryFilter } from './store/store.ts';
export { detectCurlyQuotes, hasSuspiciousUnicode, straightenQuotes } from './text/quotes/quotes.ts';
export {
  type ToolCallOptions,
  type Toolset,
  type ToolsetAnswer,
  type ToolsetOptions,
  type ToolsetTool,
  toolset,
} from './tools/toolset.ts';

/** A workspace open for any number of sessions in this process. */
export interface Sessions {
  /** Warnings about the store and the policy file, for the user. */
  readonly warnings: readonly string[];
  /**
   * Returns the session with this id: the open one, a stored one that is resumed, or a new one.
   * Without an id, returns a new unnamed session. `client`: the program to which the session
   * belongs.
   */
  session(id?: string, client?: string): Promise<Session>;
  /** Runs a function, and everything it calls and awaits, in the session with this id, opening it if necessary. */
  run<T>(id: string, fn: () => T): Promise<Awaited<T>>;
  close(): Promise<void>;
}

export const Sessions: {
  open(options: sessions.WorkspaceOptions): Promise<Sessions>;
} = sessions.Sessions;

/** Opens a workspace with one session. Closing the session also closes the workspace. */
export const openSession: (options: sessions.SessionOptions) => Promise<Session> = sessions.openSession;
