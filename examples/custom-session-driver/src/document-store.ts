/** A storage that writes a text only if no other writer wrote it since it was read. */
export interface DocumentStore {
  /** Returns the text of this name and its version; both undefined if it does not exist. */
  read(name: string): Promise<{ readonly text?: string | undefined; readonly version?: string | undefined }>;

  /** False, with nothing changed, when the stored version is another one; without a version, when there is a text already. */
  write(name: string, text: string, version: string | undefined): Promise<boolean>;
}
