import { type DurableObjectSqlStorage, DurableObjectSessionService } from '@eventloom/sessions/durable-object';
import type { SessionTask } from './session-task.ts';
import { TaskRunner } from './task-runner.ts';

interface ObjectState {
  readonly storage: DurableObjectSqlStorage & { sync(): Promise<void> };
}

interface Environment {
  readonly SESSIONS: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

/** An object that does the task of each request with sessions in its storage. The floor has a table in the same storage. */
export class SessionObject {
  readonly #tasks: TaskRunner;

  constructor({ storage }: ObjectState) {
    const sessions = new DurableObjectSessionService({ storage });
    storage.sql.exec('CREATE TABLE IF NOT EXISTS bench_floor (seq INTEGER PRIMARY KEY, event TEXT NOT NULL) STRICT');
    this.#tasks = new TaskRunner({
      sessions,
      insert: (event) => {
        storage.sql.exec('INSERT INTO bench_floor (event) VALUES (?)', JSON.stringify(event)).toArray();
      },
      // Work in one request is one commit otherwise: nothing comes between two appends, as a model's answer would.
      settle: () => storage.sync(),
    });
  }

  async fetch(request: Request): Promise<Response> {
    await this.#tasks.perform((await request.json()) as SessionTask);
    return new Response('done');
  }
}

export default {
  fetch: (request: Request, { SESSIONS }: Environment): Promise<Response> => SESSIONS.getByName('bench').fetch(request),
};
