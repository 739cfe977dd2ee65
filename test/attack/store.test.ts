import { interleavedWriters, killedWriters } from '../store/writers.ts';

interleavedWriters({ records: 2000, writers: 4 });
killedWriters({ rounds: 200, writers: 3 });
