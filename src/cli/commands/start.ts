import { requiredHome } from '../../config/home.ts';
import { type Cli, EXIT } from '../cli.ts';
import { CLIENT_NAMES, type ClientName } from '../clients/client.ts';
import { CLIENTS, detectedClients } from '../clients/clients.ts';
import { HOOK_SETTINGS } from '../clients/hook-settings.ts';
import { runWords } from '../parse-command.ts';
import { AUDIT } from './audit.ts';
import { DOCTOR } from './doctor.ts';
import { INIT } from './init.ts';

/**
 * `lookfirst` alone on a terminal: shows what the user's agents have done here, adds Lookfirst to the
 * client that the user chooses, and checks that it works. Changes nothing before the user has chosen.
 */
export async function guideUser(cli: Cli): Promise<number> {
  const { terminal } = cli;
  const { bold } = terminal.colours;
  await terminal.print(
    "Lookfirst: your AI agent can't overwrite what it hasn't read, and you can undo what it did.\n",
  );
  await terminal.print(bold('1. What your agents have done in this folder'));
  await runWords(cli, AUDIT, []);
  await terminal.print(`\n${bold('2. Your clients')}`);
  const client = await chosenClient(cli);
  if (client === undefined) {
    await terminal.print(
      'Nothing was changed. lookfirst --help lists all commands; lookfirst demo shows what it does.',
    );
    return EXIT.done;
  }
  const hooks = HOOK_SETTINGS[client] === undefined ? [] : ['--hooks'];
  await runWords(cli, INIT, [client, ...hooks]);
  await terminal.print(`\n${bold('3. Does it work?')}`);
  return runWords(cli, DOCTOR, []);
}

/** Lists the clients of this machine and asks for one; undefined if the user wants none. */
async function chosenClient(cli: Cli): Promise<ClientName | undefined> {
  const { terminal, platform, env, cwd, homeFolder } = cli;
  const found = detectedClients({ platform, env, home: requiredHome(homeFolder), project: cwd });
  if (found.length === 0) {
    await terminal.print(`None was found. lookfirst init CLIENT knows ${CLIENT_NAMES.join(', ')}.`);
    return undefined;
  }
  for (const [index, name] of found.entries())
    await terminal.print(`   ${index + 1}  ${CLIENTS[name].title}`);
  const answer = await terminal.ask('Which one should check first? Number, or Enter for none:');
  return found[Number(answer) - 1] ?? found.find((name) => name === answer);
}
