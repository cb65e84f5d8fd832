import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Event } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { runProgram, startServer, temporaryFolder } from './program.ts';

/** An agent with its own model, as a user would write it: nothing else is installed in its folder. */
const ECHO = `
  import { BaseLlm, FunctionTool, LlmAgent, type LlmRequest } from 'eventloom';
  import { contentText } from '@eventloom/core';
  import * as z from 'zod';

  class Echo extends BaseLlm {
    constructor() {
      super({ model: 'echo' });
    }
    async *generateContentAsync({ contents }: LlmRequest) {
      yield { content: { role: 'model', parts: [{ text: 'You said ' + contentText(contents.at(-1)) }] } };
    }
  }
  const tool = new FunctionTool({ name: 'f', description: 'd', parameters: z.object({}), execute: () => 1 });
  export const rootAgent = new LlmAgent({ name: 'echo', model: new Echo(), tools: [tool] });
`;
const REQUIRED = `
  const { LlmAgent } = require('eventloom');
  require('zod');
  module.exports = { rootAgent: new LlmAgent({ name: 'required', model: 'gemini-flash-latest' }) };
`;
const BY_DEFAULT = `
  import { LlmAgent } from 'eventloom';
  export default new LlmAgent({ name: 'named', model: 'gemini-flash-latest' });
`;

function writeAgents(folder: string, agents: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(agents)) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

async function ask(url: string, appName: string): Promise<Response> {
  await fetch(`${url}/apps/${appName}/users/ann/sessions/s`, { method: 'POST' });
  const newMessage = { parts: [{ text: 'hi' }] };
  return fetch(`${url}/run`, {
    method: 'POST',
    body: JSON.stringify({ appName, userId: 'ann', sessionId: 's', newMessage }),
  });
}

describe('a folder of agents', () => {
  test('is served, each agent under the name of its folder, and a broken one is logged and skipped', async () => {
    using folder = temporaryFolder();
    writeAgents(folder.path, {
      'agents/good/agent.ts': ECHO,
      'agents/plain/agent.js': BY_DEFAULT,
      'agents/required/agent.js': REQUIRED,
      'agents/broken/agent.ts': 'export const rootAgent = missing();',
      'agents/empty/agent.mts': 'export const something = 1;',
      'agents/no-agent/readme.txt': '',
    });
    await using server = await startServer(['--agents', 'agents'], { folder: folder.path });
    expect(await (await fetch(`${server.url}/list-apps`)).json()).toEqual(['good', 'plain', 'required']);
    const events = (await (await ask(server.url, 'good')).json()) as Event[];
    expect(events).toMatchObject([{ author: 'echo', content: { parts: [{ text: 'You said hi' }] } }]);
    const { stderr } = await server.end('SIGTERM');
    expect(stderr).toMatch(
      /agent broken \(.*agent\.ts\): ReferenceError: missing is not defined \(.*agent\.ts:1:\d+\)\n/,
    );
    expect(stderr).toMatch(
      /agent empty \(.*agent\.mts\): exports no agent; write export const rootAgent = new LlmAgent\(.*\n/,
    );
  });

  test('may contain programs of the ADK and agents in YAML, and a broken one is logged and skipped', async () => {
    using folder = temporaryFolder();
    const tutor = 'name: tutor\nmodel: gemini-flash-latest\ninstruction: Teach.\n';
    writeAgents(folder.path, {
      'agents/school/root_agent.yaml': `${tutor}tools:\n  - name: google_search\n`,
      'agents/library/root_agent.yaml': `${tutor}tools:\n  - name: books.find\n`,
      'agents/typo/root_agent.yaml': `${tutor}instructions: Teach more.\n`,
      'agents/both/root_agent.yaml': 'broken: true',
      'agents/both/agent.ts': ECHO,
      'agents/program/agent.ts': ECHO.replace("'eventloom'", "'eventloom/adk'"),
    });
    await using server = await startServer(['--agents', 'agents'], { folder: folder.path });
    expect(await (await fetch(`${server.url}/list-apps`)).json()).toEqual(['both', 'program', 'school']);
    const { stderr } = await server.end('SIGTERM');
    expect(stderr).toMatch(
      /agent library .*root_agent\.yaml:5: .*"books\.find" is not known; write loadAgentFromConfig\(path, .*\) in an agent\.ts beside it/,
    );
    expect(stderr).toMatch(/agent typo .*root_agent\.yaml:4: "instructions": is not known here/);
  });

  test('is served if an agent calls process.exit while it is loaded, which is logged', async () => {
    using folder = temporaryFolder();
    writeAgents(folder.path, {
      'agents/good/agent.ts': ECHO,
      'agents/exits/agent.ts': 'process.exit(3);',
      'agents/hides/agent.ts': `${ECHO} import { exit } from 'node:process'; try { exit(4); } catch {}`,
      'agents/late/agent.ts': 'await Promise.resolve(); process.exit();',
    });
    await using server = await startServer(['--agents', 'agents'], { folder: folder.path });
    expect(await (await fetch(`${server.url}/list-apps`)).json()).toEqual(['good']);
    const { code, stderr } = await server.end('SIGTERM');
    expect(code).toBe(0);
    expect(stderr).toMatch(/agent exits \(.*\): called process\.exit\(3\) while it was loaded/);
    expect(stderr).toMatch(/agent hides \(.*\): called process\.exit\(4\) while it was loaded/);
    expect(stderr).toMatch(/agent late \(.*\): called process\.exit\(\) while it was loaded/);
  });

  test.each([
    ['throws in a timer', `throw new Error('nobody caught this');`],
    ['leaves a rejected promise', `void Promise.reject(new Error('nobody caught this'));`],
  ])('exits with 1 when an agent %s, after a log line about it and the run in flight', async (_what, fault) => {
    using folder = temporaryFolder();
    // The model replies in the turn of the event loop after the error.
    const reply = `await new Promise((resolve) => setTimeout(() => { setImmediate(() => setImmediate(resolve)); ${fault} })); yield`;
    writeAgents(folder.path, { 'agents/faulty/agent.ts': ECHO.replace('yield', reply) });
    await using server = await startServer(['--agents', 'agents'], { folder: folder.path });
    const response = await ask(server.url, 'faulty');
    expect([response.status, await response.json()]).toMatchObject([
      200,
      [{ content: { parts: [{ text: 'You said hi' }] } }],
    ]);
    const { code, stderr } = await server.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^eventloom: shutting down after an uncaught error: Error: nobody caught this\n/);
  });

  test('is not served if an agent throws an uncaught error while it is loaded', async () => {
    using folder = temporaryFolder();
    const fault = `setImmediate(() => { throw new Error('nobody caught this'); }); await new Promise(() => undefined);`;
    writeAgents(folder.path, { 'agents/faulty/agent.ts': `${ECHO} ${fault}` });
    const args = ['--agents', 'agents', '--port', '0'];
    const { code, stdout, stderr } = await runProgram(args, { folder: folder.path });
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('nobody caught this')]);
  });

  test('reports TypeScript syntax that needs a compiler', async () => {
    using folder = temporaryFolder();
    writeAgents(folder.path, {
      'agents/enum/agent.ts': 'enum A { B } export const rootAgent = A.B;',
      'agents/bare/agent.ts': `import { x } from './tool'; export const rootAgent = x;`,
      'agents/bare/tool.ts': 'export const x = 1;',
      'agents/compiled/agent.ts': `import { x } from './tool.js'; export const rootAgent = x;`,
      'agents/compiled/tool.ts': 'export const x = 1;',
      'agents/missing/agent.ts': `import { x } from './nothing.ts'; export const rootAgent = x;`,
    });
    const { stderr } = await runProgram(['--agents', 'agents', '--port', '0'], { folder: folder.path });
    expect(stderr).toMatch(/agent enum .*: write only erasable syntax/);
    expect(stderr).toMatch(/agent bare .*: import the file under its own name, .*tool\.ts/);
    expect(stderr).toMatch(/agent compiled .*: import the file under its own name, .*tool\.ts/);
    expect(stderr).toMatch(/agent missing .*Cannot find module(?!.*under its own name)/);
  });

  test('reports a missing key if an agent names a Gemini model', async () => {
    using folder = temporaryFolder();
    writeAgents(folder.path, { 'agents/plain/agent.js': BY_DEFAULT });
    await using server = await startServer(['--agents', 'agents'], { folder: folder.path });
    const response = await ask(server.url, 'plain');
    const { stderr } = await server.end('SIGTERM');
    expect(stderr).toMatch(/^eventloom: no key is set.*: plain \(gemini-flash-latest\); set GEMINI_API_KEY/);
    expect([response.status, await response.json()]).toEqual([
      500,
      { error: expect.stringContaining('set GEMINI_API_KEY'), code: 'CONFIGURATION' },
    ]);
  });

  test('is read by ask --agents, which runs its app', async () => {
    using folder = temporaryFolder();
    writeAgents(folder.path, { 'agents/good/agent.ts': ECHO });
    const { stdout } = await runProgram(['ask', 'hi', '--agents', 'agents', '--app', 'good'], { folder: folder.path });
    expect(stdout).toContain('echo  You said hi\n');
  });

  test.each([
    ['that does not exist', {}, 'cannot be read'],
    ['without agents', { 'agents/readme.txt': '' }, 'has no sub-folder with an agent.ts or a root_agent.yaml'],
    ['that is itself an agent', { 'agents/agent.ts': ECHO }, 'write the folder that contains it'],
    ['without a valid agent', { 'agents/broken/agent.ts': 'throw new Error("no");' }, 'can be served'],
  ])('%s is refused', async (_what, files, message) => {
    using folder = temporaryFolder();
    writeAgents(folder.path, files);
    const { code, stdout, stderr } = await runProgram(['--agents', 'agents', '--port', '0'], { folder: folder.path });
    expect([code === 0, stdout, stderr]).toEqual([false, '', expect.stringContaining(message)]);
  });
});
