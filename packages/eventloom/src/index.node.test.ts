import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as artifacts from '@eventloom/artifacts';
import * as core from '@eventloom/core';
import * as credentials from '@eventloom/credentials';
import * as gemini from '@eventloom/gemini';
import * as graph from '@eventloom/graph';
import * as live from '@eventloom/live';
import * as llmAgent from '@eventloom/llm-agent';
import * as memory from '@eventloom/memory';
import * as multiAgent from '@eventloom/multi-agent';
import * as runner from '@eventloom/runner';
import * as sessions from '@eventloom/sessions';
import * as tools from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as eventloom from './index.ts';

/** What is for those who write a back end of their own, and they depend on the package that it belongs to. */
const leftOut = [
  'DriverArtifactService',
  'DriverMemoryService',
  'MEMORY_WORDS_VERSION',
  'memoryWords',
  'DriverSessionService',
  'compareText',
  'endLease',
  'findRecord',
  'isLeaseLive',
  'keepLease',
  'refusedAppend',
  'selectEvents',
  'selectOpenRunPage',
  'selectSessionPage',
  'takeLease',
  'takeRun',
  'withdrawTicket',
];

test.each(
  Object.entries({
    core,
    tools,
    multiAgent,
    graph,
    live,
    llmAgent,
    gemini,
    runner,
    sessions,
    artifacts,
    memory,
    credentials,
  }),
)('everything of %s is here, and the same', (_name, module) => {
  const expected = Object.fromEntries(
    Object.entries(module).filter(([name]) => !leftOut.includes(name) && name !== 'Runner'),
  );
  expect({ ...eventloom }).toMatchObject(expected);
});

test.each(['core', 'tools', 'multi-agent', 'llm-agent', 'live', 'gemini', 'runner', 'credentials'])(
  'the types of %s are here',
  (name) => {
    const read = (path: string): string => readFileSync(join(import.meta.dirname, path), 'utf8');
    const exported = (text: string, source: string): string[] =>
      Array.from(
        text.matchAll(new RegExp(String.raw`export type \{([^}]*)\} from '${source}`, 'g')),
        ([, names = '']) => names.split(',').map((type) => type.replace(/^.* as /s, '').trim()),
      ).flat();
    const there = exported(read('index.ts'), `@eventloom/${name}`);
    const missing = exported(read(`../../${name}/src/index.ts`), './').filter((type) => !there.includes(type));
    expect(missing).toEqual([]);
  },
);

test('the Runner here is that of @eventloom/runner with live runs', () => {
  expect(eventloom.Runner.prototype).toBeInstanceOf(runner.Runner);
});

test('what the ADK has under another name is exported under both', () => {
  expect(eventloom.EXIT_LOOP).toBe(eventloom.exitLoop);
  expect(eventloom.REQUEST_CONFIRMATION_FUNCTION_CALL_NAME).toBe('adk_request_confirmation');
  expect(eventloom.REQUEST_CREDENTIAL_FUNCTION_CALL_NAME).toBe('adk_request_credential');
  expect(eventloom.REQUEST_INPUT_FUNCTION_CALL_NAME).toBe('adk_request_input');
});
