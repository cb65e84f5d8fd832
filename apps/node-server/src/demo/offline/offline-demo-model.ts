import { setTimeout as delay } from 'node:timers/promises';
import {
  BaseLlm,
  type Content,
  contentText,
  type FunctionCall,
  type FunctionResponse,
  type LlmRequest,
  type LlmResponse,
  type Part,
  RunAbortedError,
} from '@eventloom/core';
import { planCalls, REFUND } from './plan-calls.ts';

/** Options of the offline model. */
interface OfflineDemoModelOptions {
  /** Pause between two chunks of a streamed answer, in milliseconds. Default 15. */
  readonly chunkDelayMs?: number;
}

const ABOUT = 'I am the offline demo model, because no GEMINI_API_KEY is set.';
const HELP =
  `${ABOUT} I do not understand language; I look for words. Ask me for the weather in a city, for some arithmetic, to note  ` +
  'something, to list your notes, to save a file or to refund an order, several of them at once if you like: ' +
  '"What is the weather in Rome, and what is 17% of 340?"';

/** A chunk has up to three words. */
const CHUNK = /(?:\S+\s*){1,3}/g;

/**
 * A replacement for a language model, with which the demo works without a key and without a network. It selects the demo's tools by words
 * in the message, calls them concurrently, and answers with their results.
 */
export class OfflineDemoModel extends BaseLlm {
  readonly #chunkDelayMs: number;

  constructor({ chunkDelayMs = 15 }: OfflineDemoModelOptions = {}) {
    super({ model: 'offline-demo' });
    this.#chunkDelayMs = chunkDelayMs;
  }

  /** @throws RunAbortedError when the signal fires between two chunks */
  override async *generateContentAsync(
    { contents, toolsDict }: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    const responses = openResponses(contents);
    if (responses.length === 0) {
      const calls = callsFor(planCalls(lastQuestion(contents)), toolsDict);
      if (calls.length > 0) {
        yield whole(calls.map((functionCall) => ({ functionCall })));
        return;
      }
    }
    const text = responses.length === 0 ? HELP : answerText(responses);
    if (stream) {
      for (const chunk of text.match(CHUNK) ?? []) {
        if (abortSignal?.aborted) throw new RunAbortedError('the answer was aborted', { cause: abortSignal.reason });
        yield { content: { role: 'model', parts: [{ text: chunk }] }, partial: true };
        if (this.#chunkDelayMs > 0) await delay(this.#chunkDelayMs);
      }
    }
    yield whole([{ text }]);
  }
}

function whole(parts: Part[]): LlmResponse {
  return { content: { role: 'model', parts }, finishReason: 'STOP', modelVersion: 'offline-demo' };
}

/** Returns the responses of tools since the last message of the user. */
function openResponses(contents: readonly Content[]): FunctionResponse[] {
  const newestFirst: FunctionResponse[][] = [];
  for (const { parts = [] } of contents.toReversed()) {
    const found = parts.flatMap(({ functionResponse }) => functionResponse ?? []);
    if (found.length === 0) break;
    newestFirst.push(found);
  }
  return newestFirst.toReversed().flat();
}

function lastQuestion(contents: readonly Content[]): string {
  return contentText(contents.findLast(({ role, parts }) => role === 'user' && !isContext(parts?.[0]?.text)));
}

/** True for the first text of a message that reports what another agent did. */
function isContext(text: string | undefined): boolean {
  return text?.startsWith('For context:') === true;
}

/** Returns the calls that this agent can make. If only another agent can make them, returns a transfer to it. */
function callsFor(planned: readonly FunctionCall[], tools: LlmRequest['toolsDict']): FunctionCall[] {
  const isOffered = ({ name = '' }: FunctionCall): boolean => Object.hasOwn(tools, name);
  const calls = planned.filter(isOffered);
  if (calls.length > 0 || planned.length === 0) return calls;
  const agent = planned.some(({ name }) => name === REFUND) ? 'refunds' : 'demo';
  const handOver: FunctionCall = { name: 'transfer_to_agent', args: { agent_name: agent } };
  return isOffered(handOver) ? [handOver] : [];
}

function answerText(responses: readonly FunctionResponse[]): string {
  const tools = new Set(responses.map(({ name }) => name));
  const how =
    responses.length === 1
      ? `I called ${[...tools].join('')}`
      : `I made ${responses.length} calls at once (${[...tools].join(', ')})`;
  return `${responses.map(describeResponse).join(' ')} (${how}. ${ABOUT})`;
}

type DemoResult = Readonly<Record<string, unknown>>;

/** Sentences about the results of the demo tools, by tool name. */
const SENTENCES: Readonly<Record<string, (result: DemoResult) => string>> = {
  get_weather: ({ city, celsius, sky }) => `In ${say(city)} it is ${say(celsius)} °C and ${say(sky)}.`,
  calculate: ({ expression, value }) => `${say(expression)} is ${say(value)}.`,
  save_note: ({ saved, notes }) => `I noted "${say(saved)}"; that makes ${count(notes, 'note')}.`,
  list_notes: ({ notes }) =>
    Array.isArray(notes) && notes.length > 0
      ? `Your notes: ${notes.map(String).join('; ')}.`
      : 'You have no notes yet.',
  [REFUND]: ({ order, euros }) => `I refunded order ${say(order)}: ${say(euros)} euros.`,
  save_file: ({ filename, version }) => `I saved ${say(filename)} as an artifact, version ${say(version)}.`,
};

/** Returns the response of one tool as a sentence. */
function describeResponse({ name = 'a tool', response = {} }: FunctionResponse): string {
  if (response['error'] !== undefined) return `${name} says: ${say(response['error'])}.`;
  const sentence = Object.hasOwn(SENTENCES, name) ? SENTENCES[name] : undefined;
  return sentence ? sentence(response) : `${name} answered ${JSON.stringify(response)}.`;
}

function say(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function count(value: unknown, thing: string): string {
  return `${say(value)} ${thing}${value === 1 ? '' : 's'}`;
}
