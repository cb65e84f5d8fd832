import { spawn } from 'node:child_process';
import { request, Agent } from 'node:http';
const child = spawn(process.execPath, ['--cpu-prof', '--cpu-prof-dir=/tmp/w9', 'w9-server-tmp.ts'], { stdio: ['ignore', 'pipe', 'inherit'] });
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
const turn = () => ({ ...body(), streaming: false });
for (const [name, url] of [['ours', `${node.url}/run_sse`], ['ours', `${node.url}/run_sse`]] as const) {
  for (let i = 0; i < 500; i++) await post(url, turn());
  const T = 15000; let left = T; const t = performance.now();
  await Promise.all(Array.from({ length: 16 }, async () => { while (left-- > 0) await post(url, turn()); }));
  console.log(name, 'turns/s @16', Math.round(T / (performance.now() - t) * 1000), '' ,child.kill('SIGUSR2'));
}
{ let f = 0; for (let i = 0; i < 200; i++) f += (await post(`${node.url}/run_sse`, turn())).firstMs; console.log('first ms of a short turn', (f / 200).toFixed(2)); }

child.kill('SIGINT'); agent.destroy();
