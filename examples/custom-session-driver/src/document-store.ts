/** A storage that writes a text only if no other writer wrote it since it was read. */
export interface DocumentStore {
  /** Returns the text with this name and its version; both are undefined if it does not exist. */
  read(name: string): Promise<{ readonly text?: string | undefined; readonly version?: string | undefined }>;

  /**
   * Writes a text. Returns false and changes nothing if the stored version is another one, or, without a version, if a
   * text exists.
   */
  write(name: string, text: string, version: string | undefined): Promise<boolean>;
}
