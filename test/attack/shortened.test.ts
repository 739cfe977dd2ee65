// Tests that `npm test` runs with fewer rounds or cases, here at full length.
import '../../src/cli/clients/edit-config.test.ts';
import '../../src/session/search.race.test.ts';
import '../../src/store/sqlite/sqlite-store.test.ts';
import '../../src/text/glob/glob.test.ts';
import '../../src/text/merge.test.ts';
import '../../src/text/secret-scan.test.ts';
import '../../src/text/secrets.test.ts';
import '../conformance/conformance.test.ts';
import '../e2e/secret-surfaces.test.ts';
import '../history/claude-shaped.test.ts';
import '../history/hostile.test.ts';
import '../mcp/clients.test.ts';
import '../proxy/large.test.ts';
import '../kept/all-or-none.test.ts';
import '../kept/faults.test.ts';
import '../undo/programs.test.ts';
import '../viewer/browser.test.ts';
