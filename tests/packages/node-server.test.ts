import { createHmac } from 'node:crypto';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');
const run = promisify(execFile);
/** A user id other than root, in the image and, if the tests run as root, here. */
const USER = 1000;
const isRoot = process.getuid?.() === 0;
const SECRET = 'a secret of at least thirty-two bytes';

/** Returns the statements of a Dockerfile with their instructions; each is one line. */
function statementsOf(text: string): { instruction: string; rest: string }[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => ({ instruction: line.split(' ', 1)[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));
}

/** Returns a token of a user, signed with the secret. */
function tokenOf(name: string): string {
  const claims = { iss: 'login', aud: 'agents', sub: name, exp: Math.floor(Date.now() / 1000) + 60 };
  const parts = [{ alg: 'HS256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  return [...parts, createHmac('sha256', SECRET).update(parts.join('.')).digest('base64url')].join('.');
}

describe('the folder that build:server writes', () => {
  const place = mkdtempSync(join(tmpdir(), 'eventloom-server-'));
  const folder = join(place, 'app');
  const data = join(place, 'data');
  const children = new Set<ChildProcess>();
  let statements: { instruction: string; rest: string }[] = [];
  const statement = (instruction: string): string =>
    statements.find((found) => found.instruction === instruction)?.rest ?? '';

  beforeAll(async () => {
    const tarballs = inject('tarballs');
    if (tarballs.failure !== undefined) throw new Error(tarballs.failure);
    const build = 'umask 077 && exec node "$@"';
    const args = [join(repository, 'scripts/build-server.ts'), folder, tarballs.folder];
    await run('sh', ['-c', build, 'sh', ...args], { cwd: repository });
    chmodSync(place, 0o755);
    mkdirSync(data, { mode: 0o700 });
    if (isRoot) chownSync(data, USER, USER);
    statements = statementsOf(readFileSync(join(folder, 'Dockerfile'), 'utf8'));
  });
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(place, { recursive: true });
  });

  /** Starts the program of the image outside of the clone, as a user that is not root. */
  async function start(
    options: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    before: readonly string[] = [],
    command = JSON.parse(statement('ENTRYPOINT')) as string[],
  ) {
    const entry = command.map((word) => (word === '/data' ? data : word));
    const [program = '', ...args] = [...before, ...entry, ...options];
    const env = { PATH: process.env['PATH'], PORT: '0', NODE_ENV: 'production', ...environment };
    const user = isRoot && before.length === 0 ? { uid: USER, gid: USER } : {};
    const child = spawn(program, args, { cwd: folder, env, ...user });
    children.add(child);
    const output = { text: '' };
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const ready = Promise.withResolvers<string>();
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output.text += text;
        const port = /at http:\/\/0\.0\.0\.0:(\d+)/.exec(output.text)?.[1];
        if (port !== undefined) ready.resolve(port);
      });
    }
    void ended.then((code) => ready.reject(new Error(`the server ended with ${code}: ${output.text}`)));
    const port = await ready.promise;
    return { child, port, url: `http://127.0.0.1:${port}`, output, ended };
  }

  const post = (
    url: string,
    path: string,
    body: object = {},
    headers: Record<string, string> = {},
  ): Promise<Response> => fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body), headers });
  const say = (appName: string, text: string): object => {
    return { appName, userId: 'ann', sessionId: 's', newMessage: { parts: [{ text }] }, streaming: true };
  };

  test('has production dependencies only, in the versions of the lockfile, and no link', () => {
    const lockfile = readFileSync(join(repository, 'pnpm-lock.yaml'), 'utf8');
    const all = readdirSync(folder, { recursive: true, withFileTypes: true });
    expect(all.filter((entry) => entry.isSymbolicLink())).toEqual([]);
    // A package is beside its dependents, or in a folder of its own below one that needs another version than the others.
    const installed = new Map<string, string[]>();
    for (const { name: file, parentPath } of all) {
      const [, path] = /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(parentPath) ?? [];
      if (file !== 'package.json' || path === undefined) continue;
      const { version, dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
        readFileSync(join(parentPath, file), 'utf8'),
      ) as Record<
        'dependencies' | 'optionalDependencies' | 'peerDependencies' | 'peerDependenciesMeta',
        object | undefined
      > & {
        version: string;
      };
      const wanted = { ...dependencies, ...optionalDependencies, ...peerDependencies, ...peerDependenciesMeta };
      installed.set(path, [...(installed.get(path) ?? []), ...Object.keys(wanted)]);
      if (!/^(@eventloom\/|eventloom$)/.test(path)) expect(lockfile).toContain(`${path}@${version}`);
    }
    const needed = new Set<string>();
    const need = (name: string): void => {
      if (needed.has(name) || !installed.has(name)) return;
      needed.add(name);
      for (const dependency of installed.get(name) ?? []) need(dependency);
    };
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies: object };
    for (const name of Object.keys(dependencies)) need(name);
    expect([...installed.keys()].filter((name) => !needed.has(name))).toEqual([]);
    expect([...installed.keys()]).not.toContain('vitest');
  });

  test('has no path of the clone', async () => {
    const { stdout } = await run('sh', ['-c', `grep -rlF '${repository}' . || true`], { cwd: folder });
    expect(stdout).toBe('');
  });

  test('has a Dockerfile with a user, a health check, and the server as process 1', () => {
    expect(statements.map(({ instruction }) => instruction)).toEqual([
      'FROM',
      'ENV',
      'WORKDIR',
      'COPY',
      'RUN',
      'USER',
      'VOLUME',
      'EXPOSE',
      'HEALTHCHECK',
      'ENTRYPOINT',
    ]);
    expect(statement('USER')).toBe('node');
    expect(statement('RUN')).toBe(`install -d -o node -g node -m 0700 ${statement('VOLUME')}`);
    expect(statement('ENV')).toContain(`PORT=${statement('EXPOSE')}`);
    expect(JSON.parse(statement('ENTRYPOINT'))).toContain(statement('VOLUME'));
    for (const file of ['main.js', 'health.js']) expect(existsSync(join(folder, file))).toBe(true);
  });

  test('refuses to start without authentication unless --allow-unauthenticated is given', async () => {
    await expect(start([])).rejects.toThrow(/--allow-unauthenticated/);
  });

  test('ends with npm, whose shell passes no signal on', async () => {
    const command = ['npm', 'start', '--', '--host', '0.0.0.0', '--data', '/data'];
    const server = await start(['--allow-unauthenticated'], { HOME: place, npm_config_cache: place }, [], command);
    server.child.kill('SIGTERM');
    // The streams are closed once no process has them.
    await server.ended;
    await expect(fetch(`${server.url}/livez`)).rejects.toThrow();
  });

  test('serves a turn, answers the health check, writes private files, and drains at SIGTERM', async () => {
    const server = await start(['--allow-unauthenticated']);
    const [, command = ''] = statement('HEALTHCHECK').split('CMD ');
    const [node = '', ...check] = JSON.parse(command) as string[];
    const env = { PATH: process.env['PATH'], PORT: server.port };
    await run(node, check, { cwd: folder, env });
    await (await post(server.url, '/apps/demo/users/ann/sessions/s')).text();
    const response = await post(server.url, '/run_sse', say('demo', 'weather in Oslo'));
    server.child.kill('SIGTERM');
    expect(await response.text()).toContain('In Oslo it is');
    expect(await server.ended).toBe(0);
    await expect(run(node, check, { cwd: folder, env })).rejects.toThrow();
    const { stdout } = await run('find', [data, '-perm', '/077']);
    expect(stdout).toBe('');
  });

  test('serves agents from their own folder, which import the packages of the server', async () => {
    const agents = join(place, 'agents');
    mkdirSync(join(agents, 'coder'), { recursive: true });
    writeFileSync(
      join(agents, 'coder/agent.ts'),
      `import { QuickJsThreadCodeExecutor } from '@eventloom/quickjs/node';
       import { BaseLlm, LlmAgent } from 'eventloom';
       import { z } from 'zod';
       const replies: string[] = ['\`\`\`js\\n6 * 7\\n\`\`\`', 'done'];
       const text = z.string();
       class Model extends BaseLlm {
         async *generateContentAsync() { yield { content: { role: 'model', parts: [{ text: text.parse(replies.shift()) }] } }; } }
       export const rootAgent = new LlmAgent({ name: 'coder', model: new Model({ model: 'own' }), codeExecutor: new QuickJsThreadCodeExecutor() });`,
    );
    const server = await start(['--allow-unauthenticated', '--agents', agents, '--sessions', 'memory:']);
    await (await post(server.url, '/apps/coder/users/ann/sessions/s')).text();
    const events = await (await post(server.url, '/run_sse', say('coder', 'go'))).text();
    expect(events).toContain('"outcome":"OUTCOME_OK","output":"42"');
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
  });

  test('requires a token if a secret is set', async () => {
    const options = ['--jwt-issuer', 'login', '--jwt-audience', 'agents'];
    const server = await start(options, { EVENTLOOM_JWT_SECRET: SECRET });
    const session = '/apps/demo/users/ann/sessions/token';
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await post(server.url, session, {}, headers)).status;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: `Bearer ${tokenOf('ben')}` })).toBe(403);
    expect(await status({ authorization: `Bearer ${tokenOf('ann')}` })).toBe(200);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
  });

  // Only as root on Linux: a separate process namespace is what a container uses.
  test.skipIf(!isRoot || !existsSync('/usr/bin/unshare'))(
    'ends at SIGTERM as the first process of a container',
    async () => {
      const before = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
      const server = await start(['--allow-unauthenticated', '--sessions', 'memory:'], {}, before);
      const { pid } = server.child;
      const first = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'));
      process.kill(first, 'SIGTERM');
      expect(await server.ended).toBe(0);
    },
  );
});
