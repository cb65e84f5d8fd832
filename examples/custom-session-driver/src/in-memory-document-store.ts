import type { DocumentStore } from './document-store.ts';

/** Texts in the memory of this process. */
export class InMemoryDocumentStore implements DocumentStore {
  readonly #documents = new Map<string, { readonly text: string; readonly version: string }>();
  #versions = 0;

  async read(name: string) {
    return this.#documents.get(name) ?? {};
  }

  async write(name: string, text: string, version: string | undefined): Promise<boolean> {
    if (this.#documents.get(name)?.version !== version) return false;
    this.#documents.set(name, { text, version: String(++this.#versions) });
    return true;
  }
}
