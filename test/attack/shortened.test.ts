// The same tests as elsewhere, which `npm test` runs with fewer rounds or cases.
import '../../src/session/search-race.test.ts';
import '../../src/text/merge.test.ts';
import '../e2e/conformance.test.ts';
import '../race/all-or-none.test.ts';
