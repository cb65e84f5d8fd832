import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { reportOfThisProcess, type SseOrder, type SseReport } from './sse-order.ts';

// The floor of a server: reads the request and writes the given events, either their texts one by one, or all of them in one piece, whose
// JSON it then creates like every server. It runs no agent and creates no events.

const eventsOf = new Map<string, readonly string[]>();
const batchOf = new Map<string, readonly unknown[]>();
const app = new Hono();
app.post('/run_sse', async (context) => {
  const { appName } = (await context.req.json()) as { readonly appName: string };
  const events = eventsOf.get(appName) ?? [];
  const batch = batchOf.get(appName);
  return streamSSE(context, async (stream) => {
    if (batch) return void (await stream.write(batch.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')));
    for (const data of events) await stream.writeSSE({ data });
  });
});
app.delete('/apps/*', (context) => context.body(null, 204));
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  process.send?.({ url: `http://127.0.0.1:${port}` } satisfies SseReport);
});

process.on('message', (order: SseOrder) => {
  if (order.does === 'write') {
    eventsOf.set(order.appName, order.events);
    if (order.isBatched)
      batchOf.set(
        order.appName,
        order.events.map((data): unknown => JSON.parse(data)),
      );
  }
  process.send?.(reportOfThisProcess());
});
process.on('disconnect', () => process.exit());
