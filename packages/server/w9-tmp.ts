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
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
function post(url: string, body: object): Promise<{ firstMs: number; ms: number; text: string }> {
  return new Promise((resolve, reject) => {
    const t0 = performance.now(); let firstMs = 0; const bufs: Buffer[] = [];
    const req = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json' } }, (res) => {
      res.on('data', (d) => { firstMs ||= performance.now() - t0; bufs.push(d); });
      res.on('end', () => resolve({ firstMs, ms: performance.now() - t0, text: Buffer.concat(bufs).toString() }));
    });
    req.on('error', reject); req.end(JSON.stringify(body));
  });
}
let s = 0;
const body = () => ({ appName: 'demo', userId: 'u', sessionId: `s${s++}`, newMessage: { parts: [{ text: 'hi' }] }, streaming: true });
const sample = (await post(`${node.url}/run_sse`, body())).text.split('\n\n').filter(Boolean);
console.log('events', sample.length, sample[0], sample.at(-1));
const events = sample.map((f) => f.slice(f.indexOf('data: ') + 6));
const hono = new Hono();
hono.post('/run_sse', async (c) => { await c.req.json(); return streamSSE(c, async (st) => { let i = 0; for (const e of events) await st.writeSSE({ id: String(++i), data: e }); }); });
hono.post('/turn', async (c) => { await c.req.json(); return streamSSE(c, async (st) => { await st.writeSSE({ id: '1', data: events.at(-1)! }); }); });
const hs = honoServe({ fetch: hono.fetch, port: 0, hostname: '127.0.0.1' });
await new Promise((r) => hs.once('listening', r));
const hurl = `http://127.0.0.1:${(hs.address() as { port: number }).port}`;
for (const [name, url] of [['ours', node.url], ['hono', hurl], ['ours', node.url], ['hono', hurl], ['ours', node.url], ['hono', hurl]] as const) {
  for (let i = 0; i < 5; i++) await post(`${url}/run_sse`, body());
  const N = 30; let first = 0; const t = performance.now();
  for (let i = 0; i < N; i++) { const r = await post(`${url}/run_sse`, body()); first += r.firstMs; }
  const ms = performance.now() - t;
  console.log(name, 'events/s', Math.round((N * events.length) / ms * 1000), 'first ms', (first / N).toFixed(2), 'peak rss', Math.round(process.memoryUsage.rss() / 1e6));
}
const turn = () => ({ ...body(), streaming: false });
for (const [name, url] of [['ours', `${node.url}/run_sse`], ['hono', `${hurl}/turn`], ['ours', `${node.url}/run_sse`], ['hono', `${hurl}/turn`]] as const) {
  for (let i = 0; i < 500; i++) await post(url, turn());
  const T = 8000; let left = T; const t = performance.now();
  await Promise.all(Array.from({ length: 16 }, async () => { while (left-- > 0) await post(url, turn()); }));
  console.log(name, 'turns/s @16', Math.round(T / (performance.now() - t) * 1000), 'rss', Math.round(process.memoryUsage.rss() / 1e6));
}
{ let f = 0; for (let i = 0; i < 200; i++) f += (await post(`${node.url}/run_sse`, turn())).firstMs; console.log('first ms of a short turn', (f / 200).toFixed(2)); }
await node.shutDown(); hs.close(); agent.destroy();
