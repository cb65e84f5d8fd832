import {
  type AppendEventRequest,
  type BeginRunRequest,
  type BegunRun,
  type Content,
  createEvent,
  type EndRunRequest,
  type Event,
  EventloomError,
  type EventParams,
  type FunctionCall,
  getFunctionCalls,
  getFunctionResponses,
  type Platform,
  type SessionLease,
  stringifyContent,
  systemPlatform,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { LlmEventSummarizer } from '@eventloom/llm-agent';
import { ScriptedLiveModel, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { InMemoryRunner, LiveRequestQueue, LlmAgent, Runner, type RunnerConfig } from './index.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const TITLE = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] };
const called = (name: string, args: Record<string, unknown> = { request: 'A book.' }): ScriptedStep => ({
  calls: [{ name, args }],
});
const finished = (title: string): ScriptedStep => called('finish_task', { title });

interface Setting {
  readonly desk: readonly ScriptedStep[];
  readonly clerk: readonly ScriptedStep[];
  readonly resumable?: boolean;
  readonly mode?: 'task' | 'single_turn';
  readonly tools?: readonly FunctionTool[];
  readonly eventsCompaction?: RunnerConfig['eventsCompaction'];
  readonly sessionService?: InMemorySessionService;
}

const ONE_BOOK: Setting = {
  resumable: true,
  desk: [called('clerk'), 'You get Emma.'],
  clerk: [finished('Emma')],
};

class KilledError extends EventloomError {
  static override readonly code = 'KILLED';
}

/** A session service whose process is lost after a number of commits. */
class DyingService extends InMemorySessionService {
  #left: number;
  #lease: SessionLease | undefined;

  constructor(commits: number) {
    super();
    this.#left = commits;
  }

  override async beginRun(request: BeginRunRequest): Promise<BegunRun> {
    const begun = await super.beginRun(request);
    this.#lease = begun.lease;
    return begun;
  }

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    if (this.#left-- <= 0) throw new KilledError('killed');
    return super.appendEvent(request);
  }

  override async endRun(lease: SessionLease, request: EndRunRequest): Promise<Event | undefined> {
    if (this.#left-- <= 0) throw new KilledError('killed');
    return super.endRun(lease, request);
  }

  /** Advances the clock until the lease of the lost process has expired. */
  async revive(): Promise<void> {
    this.#left = Infinity;
    if (this.#lease) await this.releaseLease(this.#lease, { keepRunOpen: true });
  }
}

/** A desk that hands tasks to a clerk. */
async function setUp({
  desk,
  clerk,
  resumable = false,
  mode = 'task',
  tools = [],
  eventsCompaction,
  sessionService = new InMemorySessionService(),
}: Setting) {
  const clerkModel = new ScriptedModel(clerk);
  const deskModel = new ScriptedModel(desk);
  const agent = new LlmAgent({
    name: 'desk',
    model: deskModel,
    subAgents: [
      new LlmAgent({
        name: 'clerk',
        description: 'Finds a book.',
        model: clerkModel,
        mode,
        tools,
        outputSchema: TITLE,
      }),
    ],
  });
  if (!(await sessionService.getSession(KEY))) await sessionService.createSession(KEY);
  // A process that is lost reports nothing.
  const platform: Platform = { ...systemPlatform, background: (work) => void work.catch(() => undefined) };
  const runner = new Runner({ appName: 'app', agent, sessionService, resumable, platform, eventsCompaction });
  const say = async (text: string): Promise<string[]> => {
    const newMessage: Content = { role: 'user', parts: [{ text }] };
    return shown(await runner.run({ userId: 'ann', sessionId: 's', newMessage }));
  };
  /** Answers the newest request for a confirmation. */
  const confirm = async (confirmed: boolean): Promise<string[]> => {
    const id = (await stored())
      .flatMap(getFunctionCalls)
      .findLast(({ name }) => name === 'adk_request_confirmation')?.id;
    const functionResponse = { id: id ?? '', name: 'adk_request_confirmation', response: { confirmed } };
    const newMessage: Content = { role: 'user', parts: [{ functionResponse }] };
    return shown(await runner.run({ userId: 'ann', sessionId: 's', newMessage }));
  };
  const stored = async (): Promise<readonly Event[]> => (await sessionService.getSession(KEY))?.events ?? [];
  return {
    clerkModel,
    deskModel,
    runner,
    say,
    confirm,
    stored,
  };
}

/** Texts, calls and responses by author. */
function shown(events: readonly Event[]): string[] {
  return events.flatMap((event) => [
    ...(stringifyContent(event) ? [`${event.author}: ${stringifyContent(event)}`] : []),
    ...getFunctionCalls(event).map(({ name }) => `${event.author} calls ${name}`),
    ...getFunctionResponses(event).map(({ name, response }) => `${name} gives ${JSON.stringify(response)}`),
  ]);
}

describe.each([false, true])('with runs that are resumable: %s', (resumable) => {
  test('the messages of the user go to a task agent until it finishes, and its result to the agent that called it', async () => {
    const { clerkModel, deskModel, say, stored } = await setUp({
      resumable,
      desk: [called('clerk'), 'You get Emma.', 'You are welcome.'],
      clerk: ['Which title?', 'Which author?', finished('Emma')],
    });
    expect(await say('I need a book.')).toEqual(['desk calls clerk', 'clerk: Which title?']);
    expect(await say('Emma.')).toEqual(['clerk: Which author?']);
    expect(await say('Austen.')).toEqual([
      'clerk calls finish_task',
      'finish_task gives {"result":"Task completed."}',
      'clerk gives {"title":"Emma"}',
      'desk: You get Emma.',
    ]);
    expect(await say('Thanks.')).toEqual(['desk: You are welcome.']);
    deskModel.assertConsumed();
    clerkModel.assertConsumed();
    const scopes = (await stored()).filter(({ author }) => author === 'clerk').map((event) => event.isolationScope);
    const [call] = (await stored()).flatMap(getFunctionCalls);
    expect(new Set(scopes)).toEqual(new Set([call?.id]));
    const read = JSON.stringify(deskModel.requests.map(({ request }) => request.contents));
    expect(read).not.toContain('Which title?');
  });

  test.each([
    ['runs the tool', true, '{"result":"bought"}'],
    ['does not run the tool', false, '{"error":"This tool call is rejected."}'],
  ])(
    'the answer to a confirmation in a task %s, and the task continues in its scope',
    async (_, confirmed, response) => {
      const parameters = { type: 'object', properties: {} };
      const buy = new FunctionTool({
        name: 'buy',
        description: '',
        parameters,
        requireConfirmation: true,
        execute: () => 'bought',
      });
      const { say, confirm, stored, clerkModel, deskModel } = await setUp({
        resumable,
        tools: [buy],
        desk: [called('clerk'), 'You get Emma.', 'You are welcome.'],
        clerk: [called('buy', {}), finished('Emma')],
      });
      const asked = await say('Buy me a book.');
      expect(asked.slice(0, 3)).toEqual([
        'desk calls clerk',
        'clerk calls buy',
        'clerk calls adk_request_confirmation',
      ]);
      expect(await confirm(confirmed)).toEqual([
        `buy gives ${response}`,
        'clerk calls finish_task',
        'finish_task gives {"result":"Task completed."}',
        'clerk gives {"title":"Emma"}',
        'desk: You get Emma.',
      ]);
      const scopes = (await stored()).filter(({ author }) => author === 'clerk').map((event) => event.isolationScope);
      expect(new Set(scopes).size).toBe(1);
      expect(await say('Thanks.')).toEqual(['desk: You are welcome.']);
      clerkModel.assertConsumed();
      deskModel.assertConsumed();
    },
  );

  test('a task that finishes immediately is answered in the same run, and another one can follow', async () => {
    const { deskModel, say } = await setUp({
      resumable,
      desk: [called('clerk'), called('clerk'), 'Emma and Ulysses.'],
      clerk: [finished('Emma'), finished('Ulysses')],
    });
    expect((await say('Two books.')).filter((line) => !line.includes('finish_task'))).toEqual([
      'desk calls clerk',
      'clerk gives {"title":"Emma"}',
      'desk calls clerk',
      'clerk gives {"title":"Ulysses"}',
      'desk: Emma and Ulysses.',
    ]);
    expect(deskModel.requests[2]?.request.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({
      title: 'Ulysses',
    });
  });
});

test.each([1, 2, 3, 4, 5, 6])('a run whose process is lost after commit %i finishes the task once', async (commits) => {
  const sessionService = new DyingService(commits);
  const lost = await setUp({ ...ONE_BOOK, sessionService });
  await expect(lost.say('A book.')).rejects.toThrow('killed');
  const before = await lost.stored();
  await sessionService.revive();
  const calls = before.flatMap(getFunctionCalls).map(({ name }) => name);
  const { runner, stored } = await setUp({
    sessionService,
    resumable: true,
    desk: calls.includes('clerk') ? ['You get Emma.'] : ONE_BOOK.desk,
    clerk: calls.includes('finish_task') ? [] : ONE_BOOK.clerk,
  });
  await runner.run({ userId: 'ann', sessionId: 's', invocationId: before[0]?.invocationId ?? '' });
  expect(shown(await stored())).toEqual([
    'user: A book.',
    'desk calls clerk',
    'clerk calls finish_task',
    'finish_task gives {"result":"Task completed."}',
    'clerk gives {"title":"Emma"}',
    'desk: You get Emma.',
  ]);
});

test('a task that finished before its process was lost does not run again', async () => {
  const { runner, say } = await setUp({ desk: ['You get Emma.'], clerk: [] });
  const session = (await runner.sessionService.getSession(KEY)) ?? expect.unreachable();
  const place = { invocationId: 'i-1' };
  const call = { id: 'c1', name: 'clerk', args: { request: 'A book.' } };
  const content = { role: 'model', parts: [{ functionCall: call }] };
  for (const event of [
    createEvent({ ...place, author: 'user', content: { role: 'user', parts: [{ text: 'A book.' }] } }),
    createEvent({ ...place, author: 'desk', content, longRunningToolIds: ['c1'] }),
    createEvent({ ...place, author: 'clerk', isolationScope: 'c1', output: { title: 'Emma' } }),
  ])
    await runner.sessionService.appendEvent({ session, event });
  expect(await say('Is it there?')).toEqual(['clerk gives {"title":"Emma"}', 'desk: You get Emma.']);
});

describe.each([
  ['on the branch of its caller', {}],
  ['on a branch of its own', { branch: 'clerk@fc-1' }],
  ['of another task', { branch: 'boss@fc-0.clerk@fc-1' }],
])('a recorded task %s gets the answer of the user', (_title, place) => {
  const buy = { id: 'fc-2', name: 'buy', args: {} };
  const reply = (author: string, ...calls: readonly FunctionCall[]): EventParams => ({
    author,
    content: { role: 'model', parts: calls.map((functionCall) => ({ functionCall })) },
    ...(author === 'clerk' ? { isolationScope: 'fc-1', ...place } : {}),
  });
  const responseTo = ({ id = '', name = '' }: FunctionCall, response: Record<string, unknown>): Content => ({
    role: 'user',
    parts: [{ functionResponse: { id, name, response } }],
  });
  const confirmation = {
    id: 'fc-3',
    name: 'adk_request_confirmation',
    args: { originalFunctionCall: buy, toolConfirmation: { confirmed: false, hint: 'Buy?' } },
  };
  const input = { id: 'fc-3', name: 'adk_request_input', args: { message: 'Which title?' } };
  const rest = [
    'clerk calls finish_task',
    'finish_task gives {"result":"Task completed."}',
    'clerk gives {"title":"Emma"}',
    'desk: You get Emma.',
  ];

  /** Records that the clerk's calls wait for the user, and returns a function that answers the last one. */
  async function setUpRecorded(calls: readonly EventParams[], asked: FunctionCall) {
    const parameters = { type: 'object', properties: {} };
    const execute = (): string => 'bought';
    const tool = new FunctionTool({ name: 'buy', description: '', parameters, requireConfirmation: true, execute });
    const setting = await setUp({ tools: [tool], desk: ['You get Emma.'], clerk: [finished('Emma')] });
    const { runner } = setting;
    const session = (await runner.sessionService.getSession(KEY)) ?? expect.unreachable();
    const task = { id: 'fc-1', name: 'clerk', args: { request: 'A book.' } };
    const recorded = [{ author: 'user', content: { role: 'user', parts: [{ text: 'A book.' }] } }, reply('desk', task)];
    for (const params of [...recorded, ...calls])
      await runner.sessionService.appendEvent({ session, event: createEvent({ invocationId: 'i-1', ...params }) });
    const answer = async (response: Record<string, unknown>): Promise<string[]> => {
      const newMessage = responseTo(asked, response);
      return shown(await runner.run({ userId: 'ann', sessionId: 's', newMessage }));
    };
    return { ...setting, answer };
  }

  test('to a request for a confirmation', async () => {
    const pending = { error: 'This tool call requires confirmation.' };
    const { answer, clerkModel } = await setUpRecorded(
      [
        reply('clerk', buy),
        { ...reply('clerk', confirmation), longRunningToolIds: ['fc-3'] },
        { ...reply('clerk'), content: responseTo(buy, pending) },
      ],
      confirmation,
    );
    expect(await answer({ confirmed: true })).toEqual(['buy gives {"result":"bought"}', ...rest]);
    expect(JSON.stringify(clerkModel.requests[0]?.request.contents)).toContain('bought');
    await expect(answer({ confirmed: true })).rejects.toThrow('has already been answered');
  });

  test('to a request for input', async () => {
    const { answer, clerkModel } = await setUpRecorded(
      [{ ...reply('clerk', input), longRunningToolIds: ['fc-3'] }],
      input,
    );
    expect(await answer({ result: 'Emma' })).toEqual(rest);
    expect(clerkModel.requests).toHaveLength(1);
    await expect(answer({ result: 'Emma' })).rejects.toThrow('has already been answered');
  });

  test('to a long-running call', async () => {
    const { answer, clerkModel } = await setUpRecorded([{ ...reply('clerk', buy), longRunningToolIds: ['fc-2'] }], buy);
    expect(await answer({ status: 'bought' })).toEqual(rest);
    const sent = clerkModel.requests[0]?.request.contents.flatMap(({ parts = [] }) => parts) ?? [];
    expect(sent.find((part) => part.functionResponse)?.functionResponse?.response).toEqual({ status: 'bought' });
  });
});

test('an agent with mode single_turn sees only the events of its call, and returns its answer as the result', async () => {
  const { clerkModel, say, stored } = await setUp({
    mode: 'single_turn',
    desk: [called('clerk'), 'You get Emma.'],
    clerk: ['{"title":"Emma"}'],
  });
  expect(await say('A book.')).toEqual([
    'desk calls clerk',
    'clerk: {"title":"Emma"}',
    'clerk gives {"title":"Emma"}',
    'desk: You get Emma.',
  ]);
  expect((await stored()).find(({ author }) => author === 'clerk')?.isolationScope).toBeTypeOf('string');
  clerkModel.assertConsumed();
});

test('two tasks of one reply run one after the other', async () => {
  const { say } = await setUp({
    desk: [{ calls: [1, 2].map((at) => ({ name: 'clerk', args: { request: `Book ${at}.` } })) }, 'Both are here.'],
    clerk: ['Which one?', finished('Emma'), finished('Ulysses')],
  });
  expect(await say('Two books.')).toEqual(['desk calls clerk', 'desk calls clerk', 'clerk: Which one?']);
  expect((await say('Emma.')).filter((line) => !line.includes('finish_task'))).toEqual([
    'clerk gives {"title":"Emma"}',
    'clerk gives {"title":"Ulysses"}',
    'desk: Both are here.',
  ]);
});

test('the model reads that the arguments of a task are wrong', async () => {
  const { say } = await setUp({ desk: [called('clerk', {}), 'I cannot.'], clerk: [] });
  expect(await say('A book.')).toEqual([
    'desk calls clerk',
    expect.stringMatching(/^clerk gives \{"error":"the arguments of clerk are not valid: .*request/),
    'desk: I cannot.',
  ]);
});

test('the tool has the name and the input schema of the agent, and a tool of the program with that name replaces it', async () => {
  const model = new ScriptedModel(['Hello.']);
  const own = new FunctionTool({ name: 'porter', description: 'Carries books.', execute: () => 'done' });
  const agent = new LlmAgent({
    name: 'desk',
    model,
    tools: [own],
    subAgents: [
      new LlmAgent({ name: 'clerk', model, mode: 'task', inputSchema: TITLE }),
      new LlmAgent({ name: 'porter', model, mode: 'task' }),
      new LlmAgent({ name: 'guide', model }),
    ],
  });
  expect(agent.tools.map((tool) => 'name' in tool && tool.name)).toEqual(['porter', 'clerk']);
  const clerk = agent.tools[1];
  expect(clerk && '_getDeclaration' in clerk && clerk._getDeclaration()).toMatchObject({
    name: 'clerk',
    parametersJsonSchema: TITLE,
  });
});

test('an open task is not summarized, and is found after summarized messages', async () => {
  const eventsCompaction = {
    summarizer: new LlmEventSummarizer({ model: new ScriptedModel(['They greeted.', 'A book was found.']) }),
    compactionInterval: 1,
  };
  const { say, stored, deskModel } = await setUp({
    eventsCompaction,
    desk: ['Hello.', called('clerk'), 'You get Emma.', 'Bye.'],
    clerk: ['Which title?', 'Which author?', 'Which year?', finished('Emma')],
  });
  const summaries = async (): Promise<number> => (await stored()).filter(({ actions }) => actions.compaction).length;
  await say('Hi.');
  expect(await summaries()).toBe(1);
  for (const text of ['I need a book.', 'Emma.', 'Austen.']) await say(text);
  expect(await summaries()).toBe(1);
  expect((await say('1815.')).slice(-2)).toEqual(['clerk gives {"title":"Emma"}', 'desk: You get Emma.']);
  expect(await summaries()).toBe(2);
  expect(await say('Bye.')).toEqual(['desk: Bye.']);
  deskModel.assertConsumed();
});

test('a live run of an agent with a task sub-agent is refused', async () => {
  const clerk = new LlmAgent({ name: 'clerk', model: new ScriptedModel([]), mode: 'task' });
  const agent = new LlmAgent({ name: 'desk', model: new ScriptedLiveModel([]), subAgents: [clerk] });
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const stream = runner.runLive({ userId: 'ann', sessionId: 's', liveRequestQueue: new LiveRequestQueue() });
  const read = async (): Promise<void> => {
    for await (const event of stream) expect(event.errorCode).toBe('CONFIGURATION');
  };
  await expect(read()).rejects.toThrow('a live run starts no task of the sub-agent "clerk"');
});

test('a resumable run ends after the task of a sub-agent, and calls afterAgentCallback', async () => {
  const helper = new LlmAgent({ name: 'helper', mode: 'single_turn', model: new ScriptedModel(['done']) });
  const after: string[] = [];
  const agent = new LlmAgent({
    name: 'agent',
    model: new ScriptedModel([{ calls: [{ name: 'helper', args: { request: 'help' } }] }, 'It is done.']),
    subAgents: [helper],
    afterAgentCallback: ({ agentName }) => void after.push(agentName),
  });
  const runner = new InMemoryRunner({ agent, appName: 'app', resumabilityConfig: { isResumable: true } });
  const key = { appName: 'app', userId: 'u', sessionId: 's' };
  await runner.sessionService.createSession(key);
  await runner.run({ ...key, newMessage: { role: 'user', parts: [{ text: 'go' }] } });
  expect(after).toEqual(['agent']);
  expect((await runner.sessionService.getSession(key))?.events.at(-1)?.object).toBe('runner.end');
});
