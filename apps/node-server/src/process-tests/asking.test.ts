import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Event } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { interruptProgram, runProgram, temporaryFolder } from './program.ts';

const QUESTION = 'What is the weather in Rome, and what is 17% of 340?';

/** An agent that says two words, and then waits until it is interrupted. */
const TALKER = `
  import { setTimeout } from 'node:timers/promises';
  import { BaseLlm, LlmAgent } from 'eventloom';

  class Talker extends BaseLlm {
    constructor() {
      super({ model: 'talker' });
    }
    async *generateContentAsync(_request, _stream, abortSignal) {
      yield { partial: true, content: { role: 'model', parts: [{ text: 'I am' }] } };
      await setTimeout(3_600_000, undefined, { signal: abortSignal });
    }
  }
  export const rootAgent = new LlmAgent({ name: 'talker', model: new Talker() });
`;

describe('ask', () => {
  test('prints the events of one turn as they come', async () => {
    using folder = temporaryFolder();
    const { code, stdout, stderr } = await runProgram(['ask', QUESTION], { folder: folder.path });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toEqual([
      'demo  → get_weather {"city":"Rome"}',
      'demo  → calculate {"expression":"17% of 340"}',
      'demo  ← get_weather {"city":"Rome","celsius":24,"sky":"sunny"}',
      'demo  ← calculate {"expression":"17% of 340","value":57.8}',
      expect.stringMatching(/^demo {2}In Rome it is 24 °C and sunny\. 17% of 340 is 57\.8\. /),
      expect.stringMatching(/^continue with --session ask-/),
      '',
    ]);
  });

  test('prints only lines of JSON with --json', async () => {
    using folder = temporaryFolder();
    const { code, stdout } = await runProgram(['ask', '--json', QUESTION], { folder: folder.path });
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Event);
    expect(code).toBe(0);
    expect(events.map(({ author }) => author)).toEqual(events.map(() => 'demo'));
    expect(events.some(({ partial }) => partial)).toBe(true);
    expect(events.at(-1)?.content?.parts?.[0]?.text).toContain('57.8');
  });

  test('continues a session, and prints changes of state and artifacts', async () => {
    using folder = temporaryFolder();
    const options = ['--session', 's', '--user', 'ann'];
    const first = await runProgram(['ask', 'note that I like tea; save a file a.txt with "x"', ...options], {
      folder: folder.path,
    });
    expect(first.stdout).toContain('demo  state user:notes = ["I like tea"]\n');
    expect(first.stdout).toContain('demo  artifact a.txt, version 0\n');
    const second = await runProgram(['ask', 'what are my notes?', ...options], { folder: folder.path });
    expect(second.stdout).toContain('Your notes: I like tea.');
  });

  test('refuses a session id that no server path can have', async () => {
    using folder = temporaryFolder();
    for (const [option, id] of [
      ['--session', '../x'],
      ['--user', 'a/..'],
    ] as const) {
      const result = await runProgram(['ask', 'hi', option, id], { folder: folder.path });
      expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(`${option}: has a segment`) });
    }
  });

  test('suggests no next command if nothing is stored', async () => {
    using folder = temporaryFolder();
    const { code, stdout } = await runProgram(['ask', '--sessions', 'memory:', 'hello'], { folder: folder.path });
    expect([code, stdout]).toEqual([0, expect.not.stringContaining('--session')]);
  });

  test('prints its usage without a question', async () => {
    using folder = temporaryFolder();
    expect(await runProgram(['ask'], { folder: folder.path })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'eventloom: ask: the question is missing; write it after the command, in quotes\n',
    });
  });

  test('prints the reason of a failure once', async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, 'agents/helper'), { recursive: true });
    writeFileSync(
      join(folder.path, 'agents/helper/agent.ts'),
      "import { LlmAgent } from 'eventloom';\nexport const rootAgent = new LlmAgent({ name: 'helper', model: 'gemini-x' });\n",
    );
    const { code, stdout, stderr } = await runProgram(['ask', 'hi', '--agents', 'agents'], { folder: folder.path });
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(/^helper {2}! CONFIGURATION: model "gemini-x": no key is set; set GEMINI_API_KEY [^\n]*\n$/);
  });

  test('suggests the nearest app name for an unknown one', async () => {
    using folder = temporaryFolder();
    const result = await runProgram(['ask', 'hi', '--app', 'dmeo'], { folder: folder.path });
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean demo?') });
  });

  test('exits cleanly at Ctrl-C', async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, 'agents/talker'), { recursive: true });
    writeFileSync(join(folder.path, 'agents/talker/agent.js'), TALKER);
    const args = ['ask', 'hello', '--agents', 'agents'];
    const result = await interruptProgram(args, { folder: folder.path }, 'talker  I am');
    expect([result.code, result.stderr]).toEqual([
      130,
      'eventloom: interrupted; committed events are in the session\n',
    ]);
  });
});
