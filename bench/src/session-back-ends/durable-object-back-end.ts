import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestHarness } from 'wrangler';
import { bytesWrittenBy } from '../bytes-written.ts';
import type { BackEnd } from './back-end.ts';

/**
 * Sessions in one Durable Object in workerd, whose clock stands still while code runs. A request therefore runs a task
 * of many operations, and is timed in this process. The written bytes are those of workerd's processes.
 */
export async function openDurableObject(): Promise<BackEnd> {
  // The runtime would ask the network for the location of this machine.
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] = 'false';
  const server = createTestHarness({
    root: import.meta.dirname,
    workers: [
      {
        config: {
          name: 'bench',
          main: join(import.meta.dirname, 'durable-object-worker.ts'),
          compatibility_date: '2026-11-01',
          durable_objects: { bindings: [{ name: 'SESSIONS', class_name: 'SessionObject' }] },
          exports: { SessionObject: { type: 'durable-object', storage: 'sqlite' } },
        },
      },
    ],
  });
  await server.listen();
  const worker = server.getWorker('bench');
  const processes = workerdProcesses();
  return {
    name: 'Durable Object',
    batch: 100,
    burst: 2000,
    perform: async (task) => {
      const response = await worker.fetch('http://bench/', { method: 'POST', body: JSON.stringify(task) });
      const text = await response.text();
      if (!response.ok) throw new Error(`the object answered ${response.status}: ${text}`);
    },
    bytesWritten: async () => processes.reduce((sum, pid) => sum + bytesWrittenBy(pid), 0),
    close: () => server.close(),
  };
}

/** Returns the workerd processes that this process started. */
function workerdProcesses(): number[] {
  return readdirSync('/proc/self/task')
    .flatMap((thread) => readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' '))
    .filter((pid) => pid !== '' && readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'workerd')
    .map(Number);
}
