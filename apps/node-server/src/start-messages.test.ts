import { execFileSync } from 'node:child_process';
import { AgentError, ConfigurationError, ModelError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { readyLine, missingKeyWarning, failureText } from './start-messages.ts';

/** Lets a shell split the printed curl command into its arguments. */
function argumentsOf(line: string): string[] {
  const command = (line.split('try: ')[1] ?? '').replace(/^curl /, "printf '%s\\n' ");
  return execFileSync('sh', ['-c', command], { encoding: 'utf8' }).trimEnd().split('\n');
}

test.each(['plain', "it's", 'a (copy)', 'a b', '$(id)', 'a;b', '`id`', 'a*[b]!', '日本'])(
  'the command can be pasted when the app is called %j',
  (appName) => {
    const args = argumentsOf(readyLine('http://[::1]:8000', [appName]));
    const address = args.find((arg) => arg.includes('/apps/')) ?? '';
    expect(address).toMatch(/^http:\/\/\[::1\]:8000\/apps\/[\w%.~-]+\/users\/me\/sessions\/first$/);
    expect(decodeURIComponent(address)).toContain(`/apps/${appName}/users/`);
    expect(args).toContain('http://[::1]:8000/run_sse');
    expect(JSON.parse(args.at(-1) ?? '')).toMatchObject({ appName });
  },
);

const sessionService = new InMemorySessionService();

test('agents that name a model are warned of wherever they are in the tree, once an app', () => {
  const writer = new LlmAgent({ name: 'writer', model: 'gemini-a' });
  const reader = new LlmAgent({ name: 'reader', model: 'gemini-a' });
  const agent = new SequentialAgent({ name: 'pipeline', subAgents: [writer, reader] });
  const models = () => new ScriptedModel([]);
  const warning = missingKeyWarning([new Runner({ appName: 'app', agent, sessionService, models })]);
  expect(warning).toContain('app (gemini-a);');
});

test('agents with models of their own are not warned of', () => {
  const agent = new LlmAgent({ name: 'own', model: new ScriptedModel([]) });
  expect(missingKeyWarning([new Runner({ appName: 'app', agent, sessionService })])).toBeUndefined();
});

test('of an error that was foreseen one line is printed, with its reason once', () => {
  expect(failureText(new ConfigurationError('no key is set'))).toBe('CONFIGURATION: no key is set');
  const cause = new TypeError('fetch failed');
  expect(failureText(new ModelError('no connection: fetch failed', { cause, errorCode: 'UNAVAILABLE' }))).toBe(
    'MODEL: no connection: fetch failed',
  );
  expect(failureText(new ModelError('no connection', { cause, errorCode: 'UNAVAILABLE' }))).toBe(
    'MODEL: no connection: fetch failed',
  );
});

test('of an error of an agent, and of one that nobody foresaw, it is printed where it was thrown', () => {
  const cause = new TypeError('x is undefined');
  const text = failureText(new AgentError('agent "a" failed', { cause }));
  expect(text).toMatch(
    /^AGENT: agent "a" failed\n {2}because of TypeError: x is undefined\n {4}at .*start-messages\.test\.ts/,
  );
  expect(failureText(cause)).toContain('start-messages.test.ts');
});
