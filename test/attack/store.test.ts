import { killedWriters } from '../store/writers.ts';

killedWriters({ rounds: 200, writers: 3 });
