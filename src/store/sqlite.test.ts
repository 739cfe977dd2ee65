import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { storeConformance } from '../../test/store/conformance.ts';
import { openSqliteStore } from './sqlite.ts';

const home = mkdtempSync(join(tmpdir(), 'lookfirst-store-'));
afterAll(() => rmSync(home, { recursive: true }));

let made = 0;
storeConformance('sqlite', () => openSqliteStore(join(home, `${made++}.db`)));
