/** How a file system compares names. */
export interface Folding {
  readonly caseless: boolean;
  /** Treats composed and decomposed forms of a character as one name (APFS, HFS+). */
  readonly unicodeForm: boolean;
}

export const EXACT: Folding = { caseless: false, unicodeForm: false };

/**
 * The folding of the platform's usual file system. On a case-sensitive volume it only makes two
 * files share a lock.
 */
export function platformFolding(platform: string): Folding {
  if (platform === 'darwin') return { caseless: true, unicodeForm: true };
  if (platform === 'win32') return { caseless: true, unicodeForm: false };
  return EXACT;
}

/**
 * The comparison key of a path: spellings that the file system treats as the same name give the
 * same string.
 */
export function foldPath(path: string, folding: Folding): string {
  const form = folding.unicodeForm ? path.normalize('NFC') : path;
  // Lower case only: upper-casing first would equate ß with ss and ı with i, which no file system does.
  return folding.caseless ? form.toLowerCase() : form;
}
