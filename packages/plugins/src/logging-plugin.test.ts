import { ConfigurationError } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test, vi } from 'vitest';
import { play } from './fixtures/play.ts';
import { LoggingPlugin } from './logging-plugin.ts';

const tool = new FunctionTool({ name: 'f', description: '', execute: ({ n }) => ({ n }) });

/** Returns a log function with its headings and lines. */
function log() {
  const lines: string[] = [];
  const headings = (): string[] =>
    lines.filter((line) => !line.includes(']    ')).map((line) => line.replace('[logging_plugin] ', ''));
  return { lines, headings, plugin: new LoggingPlugin({ log: (line) => lines.push(line) }) };
}

test('the plugin logs each step of a run, in order', async () => {
  const { lines, headings, plugin } = log();
  const call = { calls: [{ id: 'c1', name: 'f', args: { n: 1 } }] };
  const { run } = await play({
    plugins: [plugin],
    model: [call, 'done'],
    agent: { tools: [tool], instruction: 'x'.repeat(300) },
  });
  await run();
  expect(headings()).toEqual([
    'USER MESSAGE RECEIVED',
    'INVOCATION STARTING',
    'AGENT STARTING',
    'LLM REQUEST',
    'LLM RESPONSE',
    'EVENT YIELDED',
    'TOOL STARTING',
    'TOOL COMPLETED',
    'EVENT YIELDED',
    'LLM REQUEST',
    'LLM RESPONSE',
    'EVENT YIELDED',
    'AGENT COMPLETED',
    'INVOCATION COMPLETED',
  ]);
  expect(lines).toContain("[logging_plugin]    User Content: text: 'hi'");
  expect(lines).toContain(`[logging_plugin]    System Instruction: '${'x'.repeat(200)}...'`);
  expect(lines).toContain('[logging_plugin]    Arguments: {"n":1}');
  expect(lines).toContain('[logging_plugin]    Result: {"n":1}');
  expect(lines).toContain('[logging_plugin]    Function Calls: f');
  expect(lines).toContain("[logging_plugin]    Content: text: 'done'");
});

test('the plugin logs errors of tools and models', async () => {
  const { lines, headings, plugin } = log();
  const broken = new FunctionTool({
    name: 'f',
    description: '',
    execute: () => {
      throw new RangeError('too far');
    },
  });
  const { run } = await play({
    plugins: [plugin],
    model: [{ calls: [{ name: 'f' }] }, new TypeError('no model')],
    agent: { tools: [broken] },
  });
  await expect(run()).rejects.toThrow();
  expect(headings()).toEqual(expect.arrayContaining(['TOOL ERROR', 'LLM ERROR', 'INVOCATION FAILED']));
  expect(lines).toContain('[logging_plugin]    Error: RangeError: too far');
  expect(lines.filter((line) => line.includes('no model')).length).toBeGreaterThan(0);
});

test('the plugin logs to the console, under its own name', async () => {
  const console = vi.spyOn(globalThis.console, 'log').mockReturnValue();
  try {
    const { run } = await play({ plugins: [new LoggingPlugin('steps')], model: ['done'] });
    await run();
    expect(console.mock.calls[0]).toEqual(['[steps] USER MESSAGE RECEIVED']);
  } finally {
    console.mockRestore();
  }
});

test('a log that is not a function is refused', () => {
  expect(() => new LoggingPlugin({ log: console as never })).toThrow(ConfigurationError);
});
