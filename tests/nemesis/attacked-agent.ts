// The attacked agents. They run on Node and on Workers, behave the same in every process, and report each step.

import {
  BaseAgent,
  BaseLlm,
  type BaseLlmConnection,
  type Content,
  type Event,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
  type Part,
} from '@eventloom/core';
import { END, START, StateGraph } from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, ParallelAgent } from '@eventloom/multi-agent';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { AttackedConnection } from './attacked-connection.ts';

/** The kind of work that a message requests: a message is a kind and a token, such as `tools m17`. */
export type MessageKind = 'chat' | 'tools' | 'steps' | 'crew' | 'plan' | 'risk' | 'safe' | 'pay' | 'wait' | 'long';

/** A step of an agent, as reported to the process that hosts it. */
export interface AgentStep {
  readonly kind: 'chunk' | 'tool';
  /** Name and call id of a tool. */
  readonly name: string;
  /** True if the tool must not run twice for one call. */
  readonly isOnce: boolean;
}

/** Services of the process that hosts the agents. */
export interface Host {
  /** Called before each step. */
  step(step: AgentStep): Promise<void> | undefined;
  /** Waits this time. */
  pause(ms: number): Promise<void>;
  /** The time between two chunks of a reply. */
  readonly paceMs: number;
  /** Duration of the slow tool in milliseconds. */
  readonly slowMs: number;
}

/** Signs the webhooks of a server under attack. */
export const WEBHOOK_SECRET = `whsec_${btoa('s'.repeat(32))}`;

/** Returns the last text of a completed turn. */
export const finalText = (token: string): string =>
  `all that was asked for is done, ${token}, and nothing was done twice`;

const MARKER = /^(\w+) ([\w-]+)$/;
/** Matches the token of the message, the agent, the number of its reply and the name of the tool. */
const CALL_ID = /^([\w-]+)\.\w+\.(\d)\.\w+$/;
const WORDS_PER_CHUNK = 3;

type PlannedToolCall = readonly [name: string, args?: Record<string, unknown>];

/** Returns the calls that an agent makes for a message, reply by reply; after them it answers. */
function callsOf(agent: string, kind: string, token: string): readonly (readonly PlannedToolCall[])[] {
  if (agent === 'helper') return [[['book']]];
  if (agent === 'worker') return [[['look'], ['search']]];
  if (agent === 'clerk') return [[['payer', { request: `pay ${token}-clerk` }]]];
  if (agent === 'payer') return [[['pay']]];
  if (agent === 'left' || agent === 'right') return [[['helper', { request: `help ${token}-${agent}` }], ['look']]];
  switch (kind) {
    case 'tools':
      return [[['look'], ['slow'], ['book']]];
    case 'steps':
      return [[['book']], [['slow'], ['look']], [['book']]];
    case 'crew':
      return [[['crew', { request: `team ${token}` }], ['book']]];
    case 'plan':
      return [[['plan', { request: `plan ${token}` }], ['book']]];
    case 'risk':
    case 'safe':
      return [[['risk', { request: `${kind} ${token}` }], ['look']]];
    case 'pay':
      return [[['pay'], ['look']]];
    case 'wait':
      return [[['wait']]];
    default:
      return [];
  }
}

/** A model that replies to the newest message with a marker, depending on how many replies it has: the same in every process. */
class AttackedModel extends BaseLlm {
  readonly #agent: string;
  readonly #host: Host;

  constructor(agent: string, host: Host) {
    super({ model: 'attacked' });
    this.#agent = agent;
    this.#host = host;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    checkHistory(contents);
    const { kind, token, step } = standing(contents);
    const calls = callsOf(this.#agent, kind, token)[step];
    if (calls) {
      const parts = calls.map(([name, args = {}]): Part => ({
        functionCall: { id: `${token}.${this.#agent}.${step}.${name}`, name, args: { token, ...args } },
      }));
      yield { content: { role: 'model', parts }, finishReason: 'STOP' };
      return;
    }
    const words = Array.from({ length: kind === 'long' ? 10 : 1 }, () => finalText(token))
      .join(' ')
      .split(' ');
    for (let at = 0; at < words.length; at += WORDS_PER_CHUNK) {
      await this.#host.step({ kind: 'chunk', name: `${token} ${at}`, isOnce: false });
      await this.#host.pause(this.#host.paceMs);
      const text = `${words.slice(at, at + WORDS_PER_CHUNK).join(' ')} `;
      yield { content: { role: 'model', parts: [{ text }] }, partial: true };
    }
    yield { content: { role: 'model', parts: [{ text: words.join(' ') }] }, finishReason: 'STOP' };
  }

  override connect(request: LlmRequest): Promise<BaseLlmConnection> {
    return Promise.resolve(new AttackedConnection(this, request));
  }
}

/**
 * Returns the message that a reply is for, and the index of the reply, from 0: by the newest response of a tool,
 * otherwise by the newest message.
 */
function standing(contents: readonly Content[]): {
  readonly kind: string;
  readonly token: string;
  readonly step: number;
} {
  const markers = contents.flatMap(({ role, parts }) => {
    const [, kind = '', token = ''] = (role === 'user' && MARKER.exec(parts?.[0]?.text ?? '')) || [];
    return token === '' ? [] : [{ kind, token }];
  });
  const newest = markers.at(-1) ?? { kind: '', token: '' };
  const [response] = contents.at(-1)?.parts?.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [];
  if (!response) return { ...newest, step: 0 };
  const [, token = newest.token, step = ''] = CALL_ID.exec(response.id ?? '') ?? [];
  // The calls of a message that was sent twice have ids of the runtime, which models do not see: they are answered with
  // a text.
  return {
    ...(markers.findLast((marker) => marker.token === token) ?? newest),
    step: step === '' ? 9 : Number(step) + 1,
  };
}

/**
 * Refuses histories that model services refuse: a call that is not followed by its response. Ids made by the runtime
 * are not sent.
 */
function checkHistory(contents: readonly Content[]): void {
  for (const [index, { parts = [] }] of contents.entries()) {
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
    const answers = (contents[index + 1]?.parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);
    const open = calls.find(({ id, name }) => !answers.some((answer) => answer.id === id && answer.name === name));
    if (open) throw new TypeError(`the call ${open.id} of ${open.name} is not followed by its response`);
  }
}

/** An agent that waits, and then fails if the message says `risk`. */
class Breaker extends BaseAgent {
  readonly #host: Host;

  constructor(host: Host) {
    super({ name: 'breaker' });
    this.#host = host;
  }

  // oxlint-disable-next-line require-yield -- it says nothing
  protected override async *runAsyncImpl({ userContent }: InvocationContext): AsyncGenerator<Event, void, void> {
    const [, kind] = MARKER.exec(userContent?.parts?.[0]?.text ?? '') ?? [];
    await this.#host.pause(this.#host.slowMs);
    if (kind === 'risk') throw new TypeError('the breaker broke');
  }
}

/**
 * Creates the agents, by the names of their apps. `front` makes concurrent calls of tools, among them a slow one, one
 * that a person confirms, one whose response comes later, and agents. `crew` is a parallel agent, each of whose agents
 * calls an agent. Readers get the events of some of the called agents. `plan` is a graph whose node may time out and is
 * then tried again. `risk` asks a person, two calls and a node deep, beside an agent that fails meanwhile, unless the
 * message says `safe`.
 */
export function createAgents(host: Host): Readonly<Record<'front' | 'crew', BaseAgent>> {
  const tool = (name: string, isOnce: boolean, pauseMs = 0, requireConfirmation = false): FunctionTool =>
    new FunctionTool({
      name,
      description: '',
      idempotent: !isOnce,
      requireConfirmation,
      execute: async (_args, { functionCallId, state }) => {
        await host.step({ kind: 'tool', name: `${name} ${functionCallId}`, isOnce });
        if (pauseMs > 0) await host.pause(pauseMs);
        state.set(`${name}-last`, functionCallId);
        return { [name]: functionCallId };
      },
    });
  const [look, slow, book] = [tool('look', false), tool('slow', true, host.slowMs), tool('book', true)];
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const helper = (streamInner: boolean): AgentTool =>
    new AgentTool({
      agent: new LlmAgent({ name: 'helper', model: new AttackedModel('helper', host), tools: [book] }),
      streamInner,
    });
  const member = (name: string): LlmAgent =>
    new LlmAgent({ name, model: new AttackedModel(name, host), tools: [helper(name === 'left'), look] });
  const search = tool('search', false, host.slowMs);
  const worker = new LlmAgent({ name: 'worker', model: new AttackedModel('worker', host), tools: [look, search] });
  const plan = new StateGraph({ name: 'plan' })
    .addNode('worker', worker, { timeoutMs: 2 * host.slowMs, retry: { maxAttempts: 3 } })
    .addEdge(START, 'worker')
    .addEdge('worker', END)
    .compile();
  const pay = tool('pay', true, 0, true);
  const payer = new LlmAgent({ name: 'payer', model: new AttackedModel('payer', host), tools: [pay] });
  const clerk = new LlmAgent({
    name: 'clerk',
    model: new AttackedModel('clerk', host),
    tools: [new AgentTool({ agent: payer })],
  });
  const office = new StateGraph({ name: 'office' })
    .addNode('clerk', clerk)
    .addEdge(START, 'clerk')
    .addEdge('clerk', END)
    .compile();
  const risk = new ParallelAgent({ name: 'risk', subAgents: [office, new Breaker(host)] });
  const crew = (): ParallelAgent => new ParallelAgent({ name: 'crew', subAgents: [member('left'), member('right')] });
  const front = new LlmAgent({
    name: 'front',
    model: new AttackedModel('front', host),
    tools: [
      look,
      slow,
      book,
      pay,
      wait,
      new AgentTool({ agent: crew(), streamInner: true }),
      new AgentTool({ agent: plan }),
      new AgentTool({ agent: risk }),
    ],
  });
  return { front, crew: crew() };
}
