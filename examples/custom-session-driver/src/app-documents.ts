import type { SessionKey } from '@eventloom/core';
import type { AppDocument, SessionDocument } from './app-document.ts';
import type { DocumentStore } from './document-store.ts';

const EMPTY = JSON.stringify({ count: 0, state: [], sessions: [] } satisfies AppDocument);

/** The documents of apps in a store: the transactions of the driver. */
export class AppDocuments {
  readonly #store: DocumentStore;

  constructor(store: DocumentStore) {
    this.#store = store;
  }

  /**
   * Reads an app, changes it and writes it, again and again until nobody else wrote in between. What changes nothing writes
   * nothing. Everything in the answer is the caller's own, because the document is parsed anew each time.
   */
  async change<T>(
    { appName, userId, sessionId }: Partial<SessionKey> & { readonly appName: string },
    work: (app: AppDocument, session: SessionDocument | undefined) => T,
  ): Promise<T> {
    for (;;) {
      const { text = EMPTY, version } = await this.#store.read(appName);
      const app = JSON.parse(text) as AppDocument;
      const session = app.sessions.find((one) => one.userId === userId && one.sessionId === sessionId);
      const answer = work(app, session);
      const changed = JSON.stringify(app);
      if (changed === text || (await this.#store.write(appName, changed, version))) return answer;
    }
  }
}
