import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FunctionTool } from '@eventloom/tools';
import { expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { DebugLoggingPlugin, type DebugLoggingPluginOptions } from './debug-logging-plugin.ts';
import { play } from './fixtures/play.ts';

interface Run {
  invocation_id: string;
  session_id: string;
  app_name: string;
  user_id: string;
  start_time: string;
  entries: { entry_type: string; agent_name?: string; data: Record<string, unknown> }[];
}

const remember = new FunctionTool({
  name: 'remember',
  description: '',
  execute: ({ what }, { state }) => {
    state.set('what', what);
    state.set('temp:secret', 'hidden');
    return { status: 'ok' };
  },
});

/** Plays a run whose model calls a tool, and returns the documents that were written. */
async function documents(options: DebugLoggingPluginOptions = {}, runs = 1): Promise<Run[]> {
  const written: string[] = [];
  const steps = [{ calls: [{ id: 'c1', name: 'remember', args: { what: 'fish' } }] }, 'done'];
  const { run } = await play({
    plugins: [new DebugLoggingPlugin({ write: (document) => void written.push(document), ...options })],
    model: Array.from({ length: runs }, () => steps).flat(),
    agent: { tools: [remember], instruction: 'Be brief.' },
  });
  for (let count = 0; count < runs; count++)
    await run({ role: 'user', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: 'c2VjcmV0' } }] });
  return parseAllDocuments(written.join('')).map((document) => document.toJS() as Run);
}

function dataOf(run: Run | undefined, type: string): Record<string, unknown> | undefined {
  return run?.entries.find(({ entry_type: entryType }) => entryType === type)?.data;
}

test('the plugin writes one document per run with all its steps', async () => {
  const [run, second] = await documents({}, 2);
  expect(run).toMatchObject({
    session_id: 's',
    app_name: 'app',
    user_id: 'u',
    start_time: '2026-01-01T00:00:00.000Z',
  });
  expect(second?.invocation_id).not.toBe(run?.invocation_id);
  expect(run?.entries.map(({ entry_type: type }) => type)).toEqual([
    'user_message',
    'invocation_start',
    'agent_start',
    'llm_request',
    'llm_response',
    'event',
    'tool_call',
    'tool_response',
    'event',
    'llm_request',
    'llm_response',
    'event',
    'agent_end',
    'session_state_snapshot',
    'invocation_end',
  ]);
  expect(dataOf(run, 'llm_request')).toMatchObject({
    tools: ['remember'],
    config: { system_instruction: expect.stringContaining('Be brief.') },
  });
  expect(dataOf(run, 'tool_call')).toEqual({ tool_name: 'remember', function_call_id: 'c1', args: { what: 'fish' } });
  expect(dataOf(run, 'tool_response')).toMatchObject({ result: { status: 'ok' } });
});

test('the plugin leaves out the bytes of media and temporary state', async () => {
  const [run] = await documents();
  expect(dataOf(run, 'user_message')).toMatchObject({
    content: { parts: [{ text: 'hi' }, { inline_data: { mime_type: 'image/png', _data_omitted: true } }] },
  });
  expect(JSON.stringify(run)).not.toContain('c2VjcmV0');
  expect(dataOf(run, 'session_state_snapshot')).toMatchObject({ state: { what: 'fish' } });
  expect(JSON.stringify(dataOf(run, 'session_state_snapshot'))).not.toContain('hidden');
});

test('the plugin leaves out the parts that the options turn off', async () => {
  const [run] = await documents({ includeSessionState: false, includeSystemInstruction: false });
  expect(dataOf(run, 'session_state_snapshot')).toBeUndefined();
  expect(dataOf(run, 'llm_request')?.['config']).toEqual({ system_instruction_length: expect.any(Number) });
});

test('the plugin writes a failed run with its error', async () => {
  const written: string[] = [];
  const plugin = new DebugLoggingPlugin({ write: (document) => void written.push(document) });
  const { run } = await play({ plugins: [plugin], model: [new TypeError('no model')] });
  await expect(run()).rejects.toThrow();
  const [document] = parseAllDocuments(written.join('')).map((one) => one.toJS() as Run);
  expect(dataOf(document, 'llm_error')).toMatchObject({ error_message: 'no model' });
  expect(dataOf(document, 'invocation_end')).toMatchObject({ error_message: expect.stringContaining('no model') });
});

test('the plugin appends to a file that only its owner may read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const outputPath = join(folder, 'debug.yaml');
  const { run } = await play({ plugins: [new DebugLoggingPlugin({ outputPath })], model: ['a', 'b'] });
  await run();
  await run();
  expect(parseAllDocuments(readFileSync(outputPath, 'utf8'))).toHaveLength(2);
  expect(statSync(outputPath).mode & 0o077).toBe(0);
});
