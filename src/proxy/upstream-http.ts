import type { Upstream, UpstreamEnd, UpstreamEvents } from './upstream.ts';
export class HttpUpstream implements Upstream {
  readonly ended: Promise<UpstreamEnd> = new Promise(() => {});
  readonly full: boolean = false;
  constructor(options: { url: string; headers: Readonly<Record<string, string>>; maxBytes: number }) {
    void options;
  }
  open(_events: UpstreamEvents): void {}
  send(_line: Buffer): void {}
  whenDrained(then: () => void): void {
    then();
  }
  pause(): void {}
  resume(): void {}
  close(): void {}
  stop(): void {}
}
