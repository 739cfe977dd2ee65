import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errnoOf, Fault } from '../model/fault.ts';

/**
 * A temporary folder with a workspace, a state folder and a folder outside, for commands that try
 * things out on real files. No file of the user is touched. The methods of this class write without
 * the gate, like other programs.
 */
export class Stage {
  readonly workspace: string;
  readonly state: string;
  readonly outside: string;
  readonly #base: string;

  constructor() {
    this.#base = temporaryFolder();
    this.workspace = join(this.#base, 'workspace');
    this.state = join(this.#base, 'state');
    this.outside = join(this.#base, 'outside');
    for (const folder of [this.workspace, this.state, this.outside]) mkdirSync(folder);
  }

  /** Variables that make a server keep its state on this stage instead of in the user's folder. */
  get env(): { readonly [name: string]: string } {
    return { LOOKFIRST_HOME: this.state, LOOKFIRST_STORE: '', LOOKFIRST_SESSION: '' };
  }

  /** Writes a file of the workspace without the gate, as an editor would. */
  put(name: string, text: string): void {
    writeFileSync(join(this.workspace, name), text);
  }

  text(name: string): string {
    return readFileSync(join(this.workspace, name), 'utf8');
  }

  /** Writes a file outside the workspace, and a link in the workspace that leads there. */
  putOutside(name: string, text: string, link: string): void {
    writeFileSync(join(this.outside, name), text);
    // The kind of link matters only on Windows, where a junction needs no special rights.
    symlinkSync(this.outside, join(this.workspace, link), 'junction');
  }

  outsideText(name: string): string {
    return readFileSync(join(this.outside, name), 'utf8');
  }

  close(): void {
    rmSync(this.#base, { recursive: true, force: true });
  }
}

/** Makes a folder for temporary files, and returns its canonical path. */
function temporaryFolder(): string {
  try {
    return realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-')));
  } catch (cause) {
    const why = `${tmpdir()} (${errnoOf(cause) ?? 'no access'}); set TMPDIR to a folder that this user may write`;
    throw new Fault('IO_FAILED', `the temporary folder cannot be used: ${why}`, { cause });
  }
}
