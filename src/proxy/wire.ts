/** The two ends between which messages pass, as an interception sees them. */
export interface Wire {
  toUpstream(line: Buffer): void;
  toClient(line: Buffer): void;
  /** The upstream's answer to this id goes to `take` instead of the client. */
  expect(key: string, take: (line: Buffer) => void): void;
  /** Answers to this id go to the client again. */
  forget(key: string): void;
}
