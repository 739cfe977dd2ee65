// Tests that `npm test` runs with fewer rounds or cases, here at full length.
import '../../src/session/search.race.test.ts';
import '../../src/text/merge.test.ts';
import '../e2e/conformance.test.ts';
import '../history/hostile.test.ts';
import '../proxy/large.test.ts';
import '../race/all-or-none.test.ts';
import '../shared/faults.test.ts';
