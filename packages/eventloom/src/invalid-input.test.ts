import { DurableObjectArtifactService } from '@eventloom/artifacts/durable-object';
import { DurableObjectSessionService } from '@eventloom/sessions/durable-object';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import * as eventloom from './index.ts';

const {
  append,
  BaseAgent,
  createEvent,
  EventloomError,
  FunctionTool,
  getFunctionResponses,
  InMemoryArtifactService,
  InMemoryCredentialService,
  InMemoryMemoryService,
  InMemoryRunner,
  InMemorySessionService,
  LlmAgent,
} = eventloom;

// As a program in JavaScript calls them: without types.
type Untyped = Readonly<Record<string, (...params: unknown[]) => unknown>>;
const root = eventloom as unknown as Untyped;
const untyped = (object: object): Untyped => object as Untyped;

class Silent extends BaseAgent {
  protected override async *runAsyncImpl(): AsyncGenerator<eventloom.Event, void, void> {}
}
const agent = new Silent({ name: 'silent' });
const runner = new InMemoryRunner({ agent, appName: 'app', autoCreateSession: true });
const key = { appName: 'app', userId: 'ada', sessionId: 's1' };

/** Calls a method of an object as a program in JavaScript does, and returns its result or a promise of it. */
function call(object: object, method: string, ...params: unknown[]): unknown {
  const own = untyped(object)[method];
  if (!own) throw new TypeError(`no method ${method}`);
  return Reflect.apply(own, object, params);
}

async function firstOf(events: unknown): Promise<unknown> {
  return (events as AsyncGenerator<unknown>).next();
}

describe('refused with what to write:', () => {
  test.each<[title: string, use: () => unknown, message: string]>([
    [
      'createEvent of a text',
      () => root['createEvent']?.('hello'),
      "createEvent: expected an object of fields, got a string; write createEvent({ content: { role: 'user', parts: [{ text: 'Hello' }] } })",
    ],
    ['hasTag of nothing', () => root['hasTag']?.(undefined, 'a'), 'hasTag: expected an event, got nothing'],
    ['objectTypeOf of a text', () => root['objectTypeOf']?.('x'), 'objectTypeOf: expected an event, got a string'],
    ['getStructuredOutput of null', () => root['getStructuredOutput']?.(null), 'expected an event, got null'],
    ['toStrictAdk of a list', () => root['toStrictAdk']?.([]), 'toStrictAdk: expected an event, got a list'],
    ['fromStrictAdk of a text', () => root['fromStrictAdk']?.('{}'), 'fromStrictAdk: expected an event, got a string'],
    ['serializeEvent of nothing', () => root['serializeEvent']?.(), 'serializeEvent: expected an event, got nothing'],
    [
      'serializeEvent with a misspelt option',
      () => root['serializeEvent']?.(createEvent(), { inclde: ['id'] }),
      'serializeEvent: has no option "inclde"; did you mean "include"?',
    ],
    [
      'serializeEvent with a path in place of a list',
      () => root['serializeEvent']?.(createEvent(), { include: 'content' }),
      'serializeEvent: include: expected a list, got a string; write include: […]',
    ],
    [
      'groupByExecution of a session',
      () => root['groupByExecution']?.({ events: [] }),
      'groupByExecution: expected events, got an object; write groupByExecution(session.events)',
    ],
    ['toolResult of nothing', () => root['toolResult']?.(), 'toolResult: expected an object of options, got nothing'],
    [
      'toolResult with an object of parts',
      () => root['toolResult']?.({ response: {}, parts: {} }),
      'toolResult: parts: expected a list, got an object',
    ],
    [
      'requestInput without the context',
      () => firstOf(root['requestInput']?.({ message: 'Which size?' })),
      "requestInput: expected the context of an agent, got an object; write requestInput(context, { message: 'Which size?' })",
    ],
    [
      'append of a text',
      () => append([], 'hello' as never),
      'append: expected a list of items to append, got a string',
    ],
    [
      'getSession with a misspelt condition',
      () => call(new InMemorySessionService(), 'getSession', { ...key, config: { numRecentEvent: 1 } }),
      'getSession: config: has no option "numRecentEvent"; did you mean "numRecentEvents"?',
    ],
    [
      'getSession with conditions that are a number',
      () => call(new InMemorySessionService(), 'getSession', { ...key, config: 5 }),
      'expected one object, got the number 5; write { numRecentEvents: 10 }',
    ],
    [
      'listSessions with a misspelt userId',
      () => call(new InMemorySessionService(), 'listSessions', { appName: 'app', userID: 'ada' }),
      'listSessions: has no option "userID"; did you mean "userId"?',
    ],
    [
      'appendEvent of nothing',
      () => call(new InMemorySessionService(), 'appendEvent'),
      'appendEvent: session or event is missing; write appendEvent({ session, event })',
    ],
    [
      'importSession of nothing',
      () => call(new InMemorySessionService(), 'importSession'),
      'importSession: expected one object, got nothing; write importSession({ records })',
    ],
    [
      'saveArtifact with a misspelt filename',
      () => call(new InMemoryArtifactService(), 'saveArtifact', { ...key, fileName: 'a.txt', artifact: {} }),
      "expected a string, got nothing; write filename: 'report.pdf'",
    ],
    [
      'loadArtifact of nothing',
      () => call(new InMemoryArtifactService(), 'loadArtifact'),
      'expected one object, got nothing; write { appName, userId, sessionId, filename }',
    ],
    [
      'listArtifactKeys of nothing',
      () => call(new InMemoryArtifactService(), 'listArtifactKeys'),
      'listArtifactKeys: expected one object, got nothing; write listArtifactKeys({ appName, userId, sessionId })',
    ],
    [
      'addSessionToMemory of nothing',
      () => call(new InMemoryMemoryService(), 'addSessionToMemory'),
      'addSessionToMemory: expected one object, got nothing; write addSessionToMemory(session)',
    ],
    [
      'searchMemory of a text',
      () => call(new InMemoryMemoryService(), 'searchMemory', 'cats'),
      'searchMemory: expected one object, got a string; write searchMemory({ appName, userId, query })',
    ],
    [
      'saveCredential of nothing',
      () => call(new InMemoryCredentialService(), 'saveCredential'),
      'expected one object, got nothing; write { appName, userId, credentialKey }',
    ],
    [
      'toSessionLines of a text',
      () => firstOf(root['toSessionLines']?.('session.jsonl')),
      'toSessionLines: expected records, got a string; write toSessionLines(sessionService.exportSession({ … }))',
    ],
    [
      'parseSessionLines of nothing',
      () => firstOf(root['parseSessionLines']?.()),
      "parseSessionLines: expected chunks of text or bytes, got nothing; write parseSessionLines(createReadStream('session.jsonl'))",
    ],
    [
      'DurableObjectSessionService without the storage',
      () => new DurableObjectSessionService({} as never),
      'DurableObjectSessionService: storage: expected the SQL storage of a Durable Object, got nothing; write storage: ctx.storage',
    ],
    [
      'DurableObjectArtifactService without the storage',
      () => new DurableObjectArtifactService({ storage: {} } as never),
      'DurableObjectArtifactService: storage: expected the SQL storage of a Durable Object, got an object; write storage: ctx.storage',
    ],
    [
      'listOpenRuns with a misspelt limit',
      () => call(runner, 'listOpenRuns', { limt: 1 }),
      'listOpenRuns: has no option "limt"; did you mean "limit"?',
    ],
    [
      'runLive of nothing',
      () => firstOf(call(runner, 'runLive')),
      'runLive: expected an object of options, got nothing; write runLive({ userId, sessionId, liveRequestQueue })',
    ],
    [
      'a callback of an agent that returns a text in place of parts',
      () => {
        const beforeAgentCallback = () => ({ text: 'hello' }) as never;
        const speaker = new InMemoryRunner({
          agent: new Silent({ name: 'a', beforeAgentCallback }),
          appName: 'app',
          autoCreateSession: true,
        });
        const newMessage = { role: 'user', parts: [{ text: 'hi' }] };
        return speaker.run({ userId: 'ada', sessionId: 's1', newMessage });
      },
      'agent "a": beforeAgentCallback: expected a content or nothing as the result, got an object; write return',
    ],
  ])('%s', async (_, use, message) => {
    const result = (async () => use())();
    await expect(result).rejects.toThrow(message);
    await expect(result).rejects.toBeInstanceOf(EventloomError);
  });
});

test('a tool that asks for confirmation with a text gives the model an error with what to write', async () => {
  const tool = new FunctionTool({
    name: 'clean',
    description: 'Deletes all files.',
    execute: (_, toolContext) => toolContext.requestConfirmation('Delete all files?' as never),
  });
  const model = new ScriptedModel([
    { parts: [{ functionCall: { id: 'c1', name: 'clean', args: {} } }] },
    { parts: [{ text: 'done' }] },
  ]);
  const asking = new InMemoryRunner({
    agent: new LlmAgent({ name: 'a', model, tools: [tool] }),
    appName: 'app',
    autoCreateSession: true,
  });
  const newMessage = { role: 'user', parts: [{ text: 'hi' }] };
  const events = await asking.run({ userId: 'ada', sessionId: 's1', newMessage });
  expect(events.flatMap(getFunctionResponses)).toMatchObject([
    {
      response: {
        error:
          "requestConfirmation: expected an object of options, got a string; write requestConfirmation({ hint: 'Delete all files?' })",
      },
    },
  ]);
});
