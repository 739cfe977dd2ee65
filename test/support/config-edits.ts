import type { Client } from '../../src/cli/clients/client.ts';
import type { ConfigTable } from '../../src/cli/clients/config-value.ts';
import { CONFIG_SYNTAXES, type EditedConfig, editConfig } from '../../src/cli/clients/edit-config.ts';
import type { Launch } from '../../src/cli/clients/launch.ts';
import { withoutProxy, withoutServers, withProxy, withServer } from '../../src/cli/clients/servers.ts';

export function textOf(edited: EditedConfig): string {
  if (!edited.ok) throw new Error(`${edited.reason} (line ${edited.line})`);
  return edited.text ?? '';
}

export function addServer(client: Client, text: string | undefined, entry: ConfigTable): EditedConfig {
  return editConfig(CONFIG_SYNTAXES[client.format], text, (have) => withServer(client, have, entry));
}

export function removeServer(client: Client, text: string | undefined): EditedConfig {
  return editConfig(CONFIG_SYNTAXES[client.format], text, (have) => withoutServers(client, have, undefined));
}

export function wrapServer(
  client: Client,
  text: string | undefined,
  wrap: { readonly name: string; readonly prefix: Launch },
): EditedConfig {
  return editConfig(CONFIG_SYNTAXES[client.format], text, (have) => withProxy(client, have, wrap));
}

export function unwrapServer(client: Client, text: string, name: string | undefined): EditedConfig {
  return editConfig(CONFIG_SYNTAXES[client.format], text, (have) => withoutProxy(client, have, name));
}

export function valuesAfter(client: Client, text: string | undefined): ConfigTable {
  return CONFIG_SYNTAXES[client.format].parse(text ?? '');
}
