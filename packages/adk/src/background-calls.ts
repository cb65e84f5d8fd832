import {
  type BaseSessionService,
  ConfigurationError,
  type Content,
  contentText,
  createEvent,
  type Event,
  type RunConfig,
  type SessionKey,
  SessionNotFoundError,
} from '@eventloom/core';
import { checkOptions, isRecord, type OptionRules, sealJson, wrongOption } from '@eventloom/core/internal';
import type { RunAsyncParams, RunStream } from '@eventloom/runner';
import { startWorker } from '#runtime';
import { AsyncQueue } from './async-queue.ts';
import { getLogger } from './logger.ts';

const MESSAGES = 'an async generator that yields contents, as in async function* () { yield newMessage; }';

/** Parameters of `runStream`. */
export interface RunStreamParams {
  readonly userId: string;
  /** The session that the runs read and add to. It must exist. */
  readonly sessionId: string;
  /** The messages of the user. The next one is read when the run of the one before has ended. A message without parts is left out. */
  readonly inputStream: AsyncIterable<Content>;
  /** State to write together with the first message. */
  readonly stateDelta?: Readonly<Record<string, unknown>> | undefined;
  readonly runConfig?: RunConfig | undefined;
  /** Ends the stream, the run and the threads of background tools. */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: OptionRules<RunStreamParams> = {
  userId: { is: 'text', write: "'ann'" },
  sessionId: { is: 'text', write: "'first'" },
  inputStream: { is: 'object', wanted: 'a stream of messages', write: MESSAGES },
  stateDelta: 'object',
  runConfig: 'object',
  abortSignal: 'object',
};

/** The part of a runner that a stream uses. */
interface StreamRunner {
  readonly appName: string;
  readonly agent: { readonly name: string };
  readonly sessionService: BaseSessionService;
  runAsync(params: RunAsyncParams): RunStream;
}

/** A call of a `BackgroundTool`. */
interface BackgroundCall {
  readonly name: string;
  readonly id: string;
  readonly script: string;
  readonly args: unknown;
}

/** The next step of a stream: a message of the user, a response or a question of a script, or the end of the user's messages. */
type StreamStep =
  | { readonly kind: 'message'; readonly content: Content; readonly done: () => void }
  | { readonly kind: 'response'; readonly call: BackgroundCall; readonly response: Record<string, unknown> }
  | { readonly kind: 'question'; readonly call: BackgroundCall; readonly hint: string }
  | { readonly kind: 'end' };

/** Maximum number of scripts that run at the same time for one stream. A model that calls more gets an error. */
const MAX_THREADS = 16;

const open = new Map<string, BackgroundCalls>();

/** Returns the background calls of the stream that runs the session; undefined if none does. */
export function findBackgroundCalls(key: SessionKey): BackgroundCalls | undefined {
  return open.get(nameOf(key));
}

function nameOf({ appName, userId, sessionId }: SessionKey): string {
  return JSON.stringify([appName, userId, sessionId]);
}

/** The calls of background tools in one stream, each with its thread. */
class BackgroundCalls {
  readonly steps: AsyncQueue<StreamStep> = new AsyncQueue<StreamStep>();
  readonly #threads = new Map<string, ReturnType<typeof startWorker>>();
  /** Ends a call with a response, by the id of the call. */
  readonly #ends = new Map<string, (response: Record<string, unknown>) => void>();
  /** Ids of the calls that asked the user and got no answer, oldest first. */
  readonly #asking: string[] = [];
  readonly #closed = Promise.withResolvers<void>();

  get isWorking(): boolean {
    return this.#threads.size > 0;
  }

  /** Starts the script of a call. @throws ConfigurationError if too many scripts run already, and outside Node */
  start(call: BackgroundCall): void {
    if (this.#threads.size >= MAX_THREADS)
      throw new ConfigurationError(
        `BackgroundTool "${call.name}": ${MAX_THREADS} background calls of this session run already; start another one when one of them has ended`,
      );
    const end = (response: Record<string, unknown>): void => {
      const thread = this.#threads.get(call.id);
      if (!thread) return;
      this.#threads.delete(call.id);
      this.#ends.delete(call.id);
      this.#forget(call.id);
      thread.terminate();
      this.steps.push({ kind: 'response', call, response });
    };
    const thread = startWorker(
      call.script,
      { parameters: call.args, functionName: call.name, functionCallId: call.id },
      {
        onMessage: (message) => {
          if (!isRecord(message)) return end({ error: `${call.name}: the script sent no object` });
          const { type, result, error, toolConfirmation: asked } = message;
          if (type === 'worker_completed') end(toResponse(call.name, result ?? null));
          else if (type === 'worker_error')
            end({ error: typeof error === 'string' ? error : `${call.name}: the script failed` });
          else if (type === 'require_input')
            this.steps.push({ kind: 'question', call, hint: hintOf(asked) ?? `${call.name} needs an answer.` });
          else end({ error: `${call.name}: the script sent a message of the unknown type ${JSON.stringify(type)}` });
        },
        onEnd: (error) => {
          if (!this.#threads.has(call.id)) return;
          if (error)
            getLogger().warn(`BackgroundTool "${call.name}": the script ${call.script} failed: ${error.message}`);
          end({ error: error?.message ?? `${call.name}: the script ended without a result` });
        },
      },
    );
    this.#threads.set(call.id, thread);
    this.#ends.set(call.id, end);
  }

  /** Notes that a call waits for the user. Returns false if its script has ended. */
  ask(id: string): boolean {
    const works = this.#threads.has(id);
    if (works) this.#asking.push(id);
    return works;
  }

  /** Ends the calls that wait for the user with an error, because no further message comes. */
  endUnanswered(): void {
    const error = 'the script asked the user, and the messages of the user have ended';
    for (const id of this.#asking.splice(0)) this.#ends.get(id)?.({ error });
  }

  /** Gives an answer of the user to the oldest call that asked. Returns false if none did. */
  answer(text: string): boolean {
    const id = this.#asking.shift();
    if (id === undefined) return false;
    this.#threads.get(id)?.post({ type: 'resume_input', parameters: { text } });
    return true;
  }

  /** Adds the messages of the user, each once the one before it was handled. */
  async read(messages: AsyncIterable<Content>): Promise<void> {
    try {
      for await (const content of messages) {
        if (this.steps.isClosed) return;
        if (!content.parts?.length) continue;
        const handled = Promise.withResolvers<void>();
        this.steps.push({ kind: 'message', content, done: handled.resolve });
        await Promise.race([handled.promise, this.#closed.promise]);
        if (this.steps.isClosed) return;
      }
      this.steps.push({ kind: 'end' });
    } catch (error) {
      this.steps.fail(error);
    }
  }

  close(): void {
    this.steps.close();
    this.#closed.resolve();
    for (const thread of this.#threads.values()) thread.terminate();
    this.#threads.clear();
  }

  #forget(id: string): void {
    const at = this.#asking.indexOf(id);
    if (at !== -1) this.#asking.splice(at, 1);
  }
}

/** Converts the result of a script to a response: an error, if JSON would lose its content. */
function toResponse(toolName: string, result: unknown): Record<string, unknown> {
  const sealed = sealJson(result);
  if ('fault' in sealed) {
    const { path, reason } = sealed.fault;
    return {
      error: `${toolName}: the script returned a value that is not JSON: the result${path && ` at ${path}`} ${reason}`,
    };
  }
  return isRecord(sealed.value) ? { ...sealed.value } : { result: sealed.value };
}

function hintOf(asked: unknown): string | undefined {
  return isRecord(asked) && typeof asked['hint'] === 'string' && asked['hint'] !== '' ? asked['hint'] : undefined;
}

/**
 * Runs the agent for each message of a stream, and again when a background call of the session ends. Runs one at a time, and
 * continues when the reader asks for the next event.
 */
export async function* runMessages(
  runner: StreamRunner,
  params: RunStreamParams,
): AsyncGenerator<Event, void, undefined> {
  checkOptions('runStream', PARAMS, params);
  const { userId, sessionId, inputStream, stateDelta, runConfig, abortSignal } = params;
  if (typeof inputStream?.[Symbol.asyncIterator] !== 'function')
    throw wrongOption('runStream', 'inputStream', 'a stream of messages', inputStream, MESSAGES);
  const key = { appName: runner.appName, userId, sessionId };
  if (open.has(nameOf(key)))
    throw new ConfigurationError(`runStream: session "${sessionId}" has another stream already; end that one first`);
  const calls = new BackgroundCalls();
  const close = (): void => calls.close();
  open.set(nameOf(key), calls);
  abortSignal?.addEventListener('abort', close, { once: true });
  if (abortSignal?.aborted) close();
  void calls.read(inputStream);
  const run = (newMessage: Content, more: Partial<RunAsyncParams> = {}): RunStream =>
    runner.runAsync({ userId, sessionId, newMessage, runConfig, abortSignal, ...more });
  let firstDelta = stateDelta;
  let hasEnded = false;
  try {
    for await (const step of calls.steps) {
      if (step.kind === 'end') {
        hasEnded = true;
        calls.endUnanswered();
      } else if (step.kind === 'response') yield* run(responseOf(step.call, step.response));
      else if (step.kind === 'question') {
        const content = { role: 'model', parts: [{ text: step.hint }] };
        if (calls.ask(step.call.id)) yield await append(runner, key, { author: runner.agent.name, content });
        if (hasEnded) calls.endUnanswered();
      } else {
        const { content } = step;
        // An answer to another call, such as an approval, is no answer to a script.
        const text = content.parts?.every((part) => part.text !== undefined) ? contentText(content) : undefined;
        if (text !== undefined && calls.answer(text)) yield await append(runner, key, { author: 'user', content });
        else yield* withMessage(runner, key, run(content, { stateDelta: firstDelta }));
        firstDelta = undefined;
        step.done();
      }
      if (hasEnded && !calls.isWorking && calls.steps.size === 0) return;
    }
  } finally {
    abortSignal?.removeEventListener('abort', close);
    open.delete(nameOf(key));
    close();
  }
}

function responseOf({ id, name }: BackgroundCall, response: Record<string, unknown>): Content {
  return { role: 'user', parts: [{ functionResponse: { id, name, response } }] };
}

/** Yields the stored message of a run before its events. */
async function* withMessage(
  runner: StreamRunner,
  key: SessionKey,
  stream: RunStream,
): AsyncGenerator<Event, void, undefined> {
  let isFirst = true;
  for await (const event of stream) {
    if (isFirst) yield* await messageOf(runner, key, stream.invocationId);
    isFirst = false;
    yield event;
  }
}

async function messageOf({ sessionService }: StreamRunner, key: SessionKey, invocationId: string): Promise<Event[]> {
  const session = await sessionService.getSession(key);
  const isMessage = (event: Event): boolean => event.author === 'user' && event.invocationId === invocationId;
  return session?.events.filter(isMessage).slice(0, 1) ?? [];
}

/** Stores an event between two runs, and returns it. */
async function append(
  { sessionService }: StreamRunner,
  key: SessionKey,
  event: Pick<Event, 'author' | 'content'>,
): Promise<Event> {
  const session = await sessionService.getSession(key);
  if (!session) throw new SessionNotFoundError(`session "${key.sessionId}" was deleted while a background call ran`);
  return sessionService.appendEvent({
    session,
    event: createEvent({ ...event, invocationId: `e-${crypto.randomUUID()}` }),
  });
}
