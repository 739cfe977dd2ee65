/**
 * Installs the frameworks, and beside them a copy of the build: the adapters then find the frameworks as they do in a
 * program that installed both. A link would not work, because Node resolves imports from a link's target.
 */
export function prepare(): Promise<void>;
