import { execFileSync } from 'node:child_process';
import { AgentError, ConfigurationError, ModelError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { failureText, missingKeyWarning, readyText, TRY_IT } from './start-messages.ts';

/** Returns the arguments into which a shell splits the printed curl commands. */
function argumentsOf(text: string): string[] {
  const commands = (text.split(TRY_IT)[1] ?? '').replaceAll(/^curl /gm, "printf '%s\\0' ");
  return execFileSync('sh', ['-c', commands], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

test.each(['plain', "it's", 'a (copy)', 'a b', '$(id)', 'a;b', '`id`', 'a*[b]!', '日本'])(
  'the command can be pasted when the app is called %j',
  (appName) => {
    const args = argumentsOf(readyText('http://[::1]:8000', [appName]));
    const address = args.find((arg) => arg.includes('/apps/')) ?? '';
    expect(address).toMatch(/^http:\/\/\[::1\]:8000\/apps\/[\w%.~-]+\/users\/me\/sessions\/first$/);
    expect(decodeURIComponent(address)).toContain(`/apps/${appName}/users/`);
    expect(args).toContain('http://[::1]:8000/run_sse');
    expect(JSON.parse(args.at(-1) ?? '')).toMatchObject({ appName });
  },
);

test('the address is in the first line, and no line is longer than 80 columns', () => {
  const lines = readyText('http://127.0.0.1:8000', ['demo']).split('\n');
  expect(lines[0]).toBe('Eventloom serves demo at http://127.0.0.1:8000');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});

test('the address of adk-web is printed if it is served', () => {
  const lines = readyText('http://127.0.0.1:8000', ['demo'], { hasUi: true }).split('\n');
  expect(lines).toContain('adk-web is at http://127.0.0.1:8000/dev-ui');
});

test('no command is printed for users with a token', () => {
  expect(readyText('http://127.0.0.1:8000', ['demo'], { needsToken: true })).toBe(
    'Eventloom serves demo at http://127.0.0.1:8000 to users with a token',
  );
});

test('the JSON of a refusal by a model is not printed beside its message', () => {
  const cause = new TypeError('{"error":{"message":"API key not valid"}}');
  const error = new ModelError('model "m": API key not valid', { cause, errorCode: 'INVALID_ARGUMENT', status: 400 });
  expect(failureText(error)).toBe('MODEL: model "m": API key not valid');
});

const sessionService = new InMemorySessionService();

test('a missing API key is reported once per app for model names anywhere in the tree', () => {
  const writer = new LlmAgent({ name: 'writer', model: 'gemini-a' });
  const reader = new LlmAgent({ name: 'reader', model: 'gemini-a' });
  const agent = new SequentialAgent({ name: 'pipeline', subAgents: [writer, reader] });
  const models = () => new ScriptedModel([]);
  const warning = missingKeyWarning([new Runner({ appName: 'app', agent, sessionService, models })]);
  expect(warning).toContain('app (gemini-a);');
});

test('agents with model objects need no key', () => {
  const agent = new LlmAgent({ name: 'own', model: new ScriptedModel([]) });
  expect(missingKeyWarning([new Runner({ appName: 'app', agent, sessionService })])).toBeUndefined();
});

test('a coded error is printed in one line with its cause', () => {
  expect(failureText(new ConfigurationError('no key is set'))).toBe('CONFIGURATION: no key is set');
  const cause = new TypeError('fetch failed');
  expect(failureText(new ModelError('no connection: fetch failed', { cause, errorCode: 'UNAVAILABLE' }))).toBe(
    'MODEL: no connection: fetch failed',
  );
  expect(failureText(new ModelError('no connection', { cause, errorCode: 'UNAVAILABLE' }))).toBe(
    'MODEL: no connection: fetch failed',
  );
});

test('an error of an agent and an unexpected error are printed with their stack', () => {
  const cause = new TypeError('x is undefined');
  const text = failureText(new AgentError('agent "a" failed', { cause }));
  expect(text).toMatch(
    /^AGENT: agent "a" failed\n {2}because of TypeError: x is undefined\n {4}at .*start-messages\.test\.ts/,
  );
  expect(failureText(cause)).toContain('start-messages.test.ts');
});
