import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { FunctionTool } from '@eventloom/tools';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scripted } from '../../runner/src/fixtures/scenario.ts';
import { recordingSdks } from './fixtures/recording-sdks.ts';
import { openTelemetry } from './index.ts';

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

describe.each(recordingSdks)('%s', (_, createSdk) => {
  test('spans of the application and of the run are nested in each other', async () => {
    const { tracerProvider, tree } = createSdk();
    const tracer = tracerProvider.getTracer('application');
    const instrumentation = openTelemetry({ tracerProvider });
    const runnerOf = (name: string, tools: FunctionTool[]): Runner =>
      new Runner({
        appName: name,
        agent: scripted(name, [...tools.map((tool) => ({ calls: [{ name: tool.name }] })), 'done'], { tools }),
        sessionService: new InMemorySessionService(),
        autoCreateSession: true,
        instrumentation,
      });
    const message = { userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };
    const look = new FunctionTool({
      name: 'look',
      description: 'Looks.',
      execute: async () =>
        tracer.startActiveSpan('query', async (span) => {
          await Promise.resolve();
          await runnerOf('inner', []).run(message);
          span.end();
        }),
    });
    await tracer.startActiveSpan('request', async (span) => {
      await runnerOf('outer', [look]).run(message);
      span.end();
    });
    expect(trace.getSpan(context.active())).toBeUndefined();
    expect(tree()).toEqual([
      'request',
      '  invoke_workflow outer',
      '    invoke_agent outer',
      '      chat scripted',
      '      execute_tool look',
      '        query',
      '          invoke_workflow inner',
      '            invoke_agent inner',
      '              chat scripted',
      '      chat scripted',
    ]);
  });
});
