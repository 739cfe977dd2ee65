// The tests of test/hooks with longer sessions and more calls.
import '../hooks/batches.test.ts';
import '../hooks/coverage.test.ts';
import '../hooks/resident.test.ts';
import '../hooks/killed.test.ts';
import '../hooks/moved-files.test.ts';
import '../hooks/names.test.ts';
import '../hooks/own-work.test.ts';
import '../hooks/replaced-folders.test.ts';
