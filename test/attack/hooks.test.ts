// Longer replayed sessions per client.
import '../hooks/coverage.test.ts';
