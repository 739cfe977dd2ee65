import { expect, it, onTestFinished } from 'vitest';
import { readEntry } from '../../test/store/samples.ts';
import { describePostgres } from '../../test/support/postgres.ts';
import { scratch } from '../../test/support/tree.ts';
import { EntryChoice } from './entry-choice.ts';
import { Records } from './records.ts';

await describePostgres('a followed journal of a fleet', (server) => {
  it('contains each entry that was recorded since the cursor, also before the first query', async () => {
    const records = await Records.open({ home: scratch().home, store: server.url() }, 'make');
    onTestFinished(() => records.close());
    const record = (path: string) => records.store.record({ entries: [readEntry({ path })] });
    await record('listed.ts');
    const cursor = await records.cursor();
    await record('between.ts');
    const followed = records.follow(new EntryChoice({ cwd: '/', all: true }), cursor);
    expect((await followed.next()).value).toMatchObject({ path: 'between.ts' });
    await record('later.ts');
    expect((await followed.next()).value).toMatchObject({ path: 'later.ts' });
  });
});
