import type { Event } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import type { BackEnd } from './back-end.ts';
import { TaskRunner } from './task-runner.ts';

/** Opens sessions in this process's memory. The floor adds events to a list. */
export async function openInMemory(): Promise<BackEnd> {
  const stored: Event[] = [];
  const tasks = new TaskRunner({
    sessions: new InMemorySessionService(),
    insert: (event) => void stored.push(event),
  });
  return {
    name: 'in memory',
    batch: 100,
    burst: 5000,
    perform: (task) => tasks.perform(task),
    close: async () => void (stored.length = 0),
  };
}
