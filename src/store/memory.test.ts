import { storeConformance } from '../../test/store/conformance.ts';
import { MemoryStore } from './memory.ts';

storeConformance('memory', async () => new MemoryStore());
