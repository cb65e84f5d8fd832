import { Hono } from 'hono/tiny';
import { runner } from './in-memory-agent.ts';

/** The entry whose bundle is measured: the runtime behind a route, as a Worker of one's own has it. */
const app = new Hono();
app.post('/run', async (context) => {
  const session = await runner.sessionService.createSession({ appName: 'size', userId: 'user' });
  const newMessage = { role: 'user', parts: [{ text: await context.req.text() }] };
  const events = [];
  for await (const event of runner.runAsync({ userId: 'user', sessionId: session.id, newMessage })) events.push(event);
  return context.json(events);
});

export default app;
