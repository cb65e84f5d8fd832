import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { BaseLlm, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { createServer } from './src/index.ts';
import { serve } from './src/node/index.ts';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { serve as honoServe } from '@hono/node-server';
import { request, Agent } from 'node:http';

class Chunks extends BaseLlm {
  constructor() { super({ model: 'chunks' }); }
  override async *generateContentAsync(_r: LlmRequest, stream = false): AsyncGenerator<LlmResponse, void, void> {
    const n = Number(process.env.N ?? 2000);
    if (stream) for (let i = 0; i < n; i++) yield { content: { role: 'model', parts: [{ text: `word${i} ` }] }, partial: true };
    yield { content: { role: 'model', parts: [{ text: 'all of it' }] }, finishReason: 'STOP' };
  }
}
const runner = new Runner({ appName: 'demo', agent: new LlmAgent({ name: 'demo', model: new Chunks() }), sessionService: new InMemorySessionService(), autoCreateSession: true });
const server = createServer({ runners: [runner] });
const node = await serve(server, { port: 0 });

const sampleBody = JSON.stringify({ appName: 'demo', userId: 'u', sessionId: 'sample', newMessage: { parts: [{ text: 'hi' }] }, streaming: true });
const sample = (await (await fetch(`${node.url}/run_sse`, { method: 'POST', body: sampleBody })).text()).split('\n\n').filter(Boolean);
const events = sample.map((f) => f.slice(f.indexOf('data: ') + 6));
const hono = new Hono();
hono.post('/run_sse', async (c) => { await c.req.json(); return streamSSE(c, async (st) => { let i = 0; for (const e of events) await st.writeSSE({ id: String(++i), data: e }); }); });
hono.post('/turn', async (c) => { await c.req.json(); return streamSSE(c, async (st) => { await st.writeSSE({ id: '1', data: events.at(-1)! }); }); });
const hs = honoServe({ fetch: hono.fetch, port: 0, hostname: '127.0.0.1' });
await new Promise((r) => hs.once('listening', r));
const hurl = `http://127.0.0.1:${(hs.address() as { port: number }).port}`;

console.log(JSON.stringify({ ours: node.url, hono: hurl, n: events.length }));
process.on('SIGUSR2', () => { const m = process.memoryUsage(); console.log('rss', Math.round(m.rss / 1e6), 'heap', Math.round(m.heapUsed/1e6), 'of', Math.round(m.heapTotal/1e6), 'ext', Math.round(m.external/1e6), Math.round(m.arrayBuffers/1e6)); });
process.kill(process.pid, 'SIGUSR2');

process.on('SIGINT', () => process.exit(0));
