import { describe, expect, it } from 'vitest';
import { type ApprovalRequest, ClientCall } from '../../src/model/call.ts';
import { openJournal } from '../../src/records/open-journal.ts';
import { explain } from '../../src/report/explain.ts';
import { lookfirst } from '../support/command-line.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

async function scene(): Promise<Desk> {
  const t = await desk({ session: 'one', policy: { approve: ['deploy/**'] } });
  await t.put('deploy/prod.yaml', 'replicas: 1\n');
  await t.put('other.yaml', 'replicas: 1\n');
  for (const path of ['deploy/prod.yaml', 'other.yaml']) await ok(t.session.read(path));
  return t;
}

const EDIT = [{ oldString: 'replicas: 1', newString: 'replicas: 9' }];
/** Makes one call of a client that can ask its user. */
async function withApprover<T>(
  t: Desk,
  approver: NonNullable<ClientCall['approve']>,
  work: () => Promise<T>,
): Promise<T> {
  const call = new ClientCall();
  call.approve = approver;
  const answer = await t.session.inCall(call, work);
  call.answered();
  return answer;
}

const edit = (t: Desk, path = 'deploy/prod.yaml') => t.session.edit(path, EDIT);

describe('policy approve', () => {
  it('refuses a change of a listed path as PROTECTED, and names the command with which the user approves it', async () => {
    const t = await scene();
    const refused = await refusal(edit(t), 'PROTECTED');
    const text = explain(refused, { nowMs: Date.now() });
    expect(text).toContain(
      "refusing to edit deploy/prod.yaml: a change of it needs the user's approval [PROTECTED]",
    );
    expect(text).toContain('ask the user to run `lookfirst allow deploy/prod.yaml --once`');
    expect(t.text('deploy/prod.yaml')).toBe('replicas: 1\n');
    await ok(edit(t, 'other.yaml'));
    await refusal(t.session.write('deploy/new.yaml', 'x\n'), 'PROTECTED');
    await refusal(t.session.delete('deploy/prod.yaml'), 'PROTECTED');
    await refusal(t.session.move('other.yaml', 'deploy/moved.yaml'), 'PROTECTED');
    const batch = [{ kind: 'edit', path: 'deploy/prod.yaml', edits: EDIT }] as const;
    await refusal(t.session.apply(batch), 'PROTECTED');
    await refusal(t.session.announce([{ kind: 'edit', path: 'deploy/prod.yaml', edits: EDIT }]), 'PROTECTED');
  });

  it.each([['deploy'], ['deploy/'], ['/deploy/**'], ['./deploy']])(
    'refuses changes in a folder that is listed as %j',
    async (glob) => {
      const t = await desk({ session: 'one', policy: { approve: [glob] } });
      await t.put('deploy/eu/other.yaml', 'x\n');
      await refusal(t.session.write('deploy/eu/prod.yaml', 'x\n'), 'PROTECTED');
      await ok(t.session.write('deployed.yaml', 'x\n'));
    },
  );

  it('asks about a new file, not about the folders that are created for it', async () => {
    const t = await desk({ session: 'one', policy: { approve: ['deploy/**'] } });
    const refused = await refusal(t.session.write('deploy/eu/prod.yaml', 'x\n'), 'PROTECTED');
    expect(refused.path).toBe('deploy/eu/prod.yaml');
    const asked: ApprovalRequest[] = [];
    const approver = async (request: ApprovalRequest) => (asked.push(request) ? 'approved' : undefined);
    await ok(withApprover(t, approver, () => t.session.write('deploy/eu/prod.yaml', 'x\n')));
    expect(asked.map(({ path }) => path)).toEqual(['deploy/eu/prod.yaml']);
  });

  it('shows the user the diff and obeys the answer, if the client can ask the user', async () => {
    const t = await scene();
    const asked: ApprovalRequest[] = [];
    const answers = ['declined', 'approved'] as const;
    const approver = async (request: ApprovalRequest) => answers[asked.push(request) - 1];
    const declined = await withApprover(t, approver, () => edit(t));
    expect(declined).toMatchObject({ ok: false, refusal: { code: 'PROTECTED' } });
    await ok(withApprover(t, approver, () => edit(t)));
    expect(t.text('deploy/prod.yaml')).toBe('replicas: 9\n');
    expect(asked[0]).toMatchObject({ path: 'deploy/prod.yaml', action: 'edit' });
    expect(asked[0]?.diff).toContain('+replicas: 9');
    const journal = await openJournal({ home: t.home });
    const approvals = [];
    for await (const entry of journal.entries({ kinds: ['bypass'] })) approvals.push(entry);
    await journal.close();
    expect(approvals).toMatchObject([{ text: 'approved by the user', path: 'deploy/prod.yaml' }]);
  });

  it('holds no lock while the user thinks, and asks again if the file changed meanwhile', async () => {
    const t = await scene();
    const other = await t.open({ session: 'two', policy: {} });
    const asked: ApprovalRequest[] = [];
    const approver = async (request: ApprovalRequest) => {
      asked.push(request);
      if (asked.length > 1) return 'approved' as const;
      await ok(other.read('deploy/prod.yaml'));
      await ok(other.insert('deploy/prod.yaml', 'more: true\n'));
      return 'approved' as const;
    };
    await ok(withApprover(t, approver, () => edit(t)));
    expect(asked).toHaveLength(2);
    expect(t.text('deploy/prod.yaml')).toBe('replicas: 9\nmore: true\n');
  });

  it('lookfirst allow approves a change; with --once, only the next one', async () => {
    const t = await scene();
    await refusal(edit(t), 'PROTECTED');
    expect(await lookfirst(t, ['allow', 'deploy/prod.yaml', '--once'])).toMatchObject({ code: 0 });
    await ok(edit(t));
    const again = [{ oldString: 'replicas: 9', newString: 'replicas: 10' }];
    await refusal(t.session.edit('deploy/prod.yaml', again), 'PROTECTED');
  });

  it('an approval does not waive the read', async () => {
    const t = await scene();
    const blind = await t.open({ session: 'blind' });
    expect(await lookfirst(t, ['allow', 'deploy/prod.yaml', '--once'])).toMatchObject({ code: 0 });
    await refusal(blind.write('deploy/prod.yaml', 'blind\n'), 'NOT_READ');
    await ok(blind.read('deploy/prod.yaml'));
    await ok(blind.write('deploy/prod.yaml', 'seen\n'));
  });
});
