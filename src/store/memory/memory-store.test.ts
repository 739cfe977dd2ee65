import { storeConformance } from '../../../test/store/conformance.ts';
import { MemoryStore } from './memory-store.ts';

storeConformance('memory', async () => new MemoryStore());
