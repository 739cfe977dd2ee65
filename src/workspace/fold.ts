/** How a file system compares names. */
export interface Folding {
  readonly caseless: boolean;
  /** Treats composed and decomposed forms of a character as one name (APFS, HFS+). */
  readonly unicodeForm: boolean;
}

export const EXACT: Folding = { caseless: false, unicodeForm: false };

/** What the platform's usual file system does; a case-sensitive volume there only costs an extra shared lock. */
export function platformFolding(platform: string): Folding {
  if (platform === 'darwin') return { caseless: true, unicodeForm: true };
  if (platform === 'win32') return { caseless: true, unicodeForm: false };
  return EXACT;
}

/** One file, one key: two spellings the file system takes for the same name give the same string. */
export function foldPath(path: string, folding: Folding): string {
  const form = folding.unicodeForm ? path.normalize('NFC') : path;
  // Lower case only: upper-casing first would make ß and ss, or ı and i, one file, which no file system does.
  return folding.caseless ? form.toLowerCase() : form;
}
