// Removes what earlier builds left, so that a package holds nothing whose source is gone.
import { rmSync } from 'node:fs';

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true });
