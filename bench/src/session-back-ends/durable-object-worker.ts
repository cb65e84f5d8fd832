import { type DurableObjectSqlStorage, DurableObjectSessionService } from '@eventloom/sessions/durable-object';
import type { SessionTask } from './session-task.ts';
import { TaskRunner } from './task-runner.ts';

interface ObjectState {
  readonly storage: DurableObjectSqlStorage & { sync(): Promise<void> };
}

interface Environment {
  readonly SESSIONS: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

/** An object that executes the task of each request with sessions in its storage. The floor has a table in the same storage. */
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
      // Without this, work in one request would be one commit: there is no model's answer between two appends.
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
