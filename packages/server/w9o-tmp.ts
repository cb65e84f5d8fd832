import { spawn } from 'node:child_process';
import { request, Agent } from 'node:http';
const child = spawn(process.execPath, ['w9-server-tmp.ts'], { stdio: ['ignore', 'pipe', 'inherit'] });
const line: string = await new Promise((r) => child.stdout.once('data', (d) => r(String(d))));
child.stdout.on('data', (d) => console.log('  server', String(d).trim()));
const info = JSON.parse(line);
const node = { url: info.ours }; const hurl = info.hono; const events = { length: info.n };
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
for (const [name, url] of [['ours', node.url], ['ours', node.url], ['ours', node.url]] as const) {
  for (let i = 0; i < 5; i++) await post(`${url}/run_sse`, body());
  const N = 30; let first = 0; const t = performance.now();
  for (let i = 0; i < N; i++) { const r = await post(`${url}/run_sse`, body()); first += r.firstMs; }
  const ms = performance.now() - t;
  console.log(name, 'events/s', Math.round((N * events.length) / ms * 1000), 'first ms', (first / N).toFixed(2), 'peak ' ,child.kill('SIGUSR2'));
}
const turn = () => ({ ...body(), streaming: false });
for (const [name, url] of [['ours', `${node.url}/run_sse`], ['ours', `${node.url}/run_sse`]] as const) {
  for (let i = 0; i < 500; i++) await post(url, turn());
  const T = 8000; let left = T; const t = performance.now();
  await Promise.all(Array.from({ length: 16 }, async () => { while (left-- > 0) await post(url, turn()); }));
  console.log(name, 'turns/s @16', Math.round(T / (performance.now() - t) * 1000), '' ,child.kill('SIGUSR2'));
}
{ let f = 0; for (let i = 0; i < 200; i++) f += (await post(`${node.url}/run_sse`, turn())).firstMs; console.log('first ms of a short turn', (f / 200).toFixed(2)); }

child.kill(); agent.destroy();
