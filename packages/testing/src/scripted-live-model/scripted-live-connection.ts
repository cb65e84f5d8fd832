import {
  type BaseLlmConnection,
  type Blob,
  type Content,
  type FunctionResponse,
  LiveConnectionError,
  type LiveLlmResponse,
  type LlmRequest,
  RunAbortedError,
} from '@eventloom/core';
import { Gate } from '../gate.ts';
import {
  type LiveSent,
  type LiveSentMatcher,
  matchesSent,
  type LiveCue,
  type ScriptedLiveStep,
} from './scripted-live-step.ts';

/** The parts of a scripted connection. */
interface ScriptedLiveConnectionParams {
  readonly request: LlmRequest;
  readonly steps: readonly ScriptedLiveStep[];
  /** True records messages in `sent`. */
  readonly recordSent: boolean;
  readonly abortSignal: AbortSignal | undefined;
  readonly takesInterimResponses: boolean | undefined;
  readonly tellsConsumed: boolean | undefined;
  readonly needsCallIds: boolean | undefined;
}

/** A live connection that plays its script while it is read, and records the messages that it receives. */
export class ScriptedLiveConnection implements BaseLlmConnection {
  /** A deep copy of the request that opened the connection. */
  readonly request: LlmRequest;
  readonly takesInterimResponses: boolean | undefined;
  readonly tellsConsumed: boolean | undefined;
  readonly needsCallIds: boolean | undefined;
  readonly #steps: readonly ScriptedLiveStep[];
  readonly #recordSent: boolean;
  readonly #sent: LiveSent[] = [];
  /** Messages that no cue has matched yet. */
  #unheard: LiveSent[] = [];
  /** Number of cues that have not been played. */
  #cuesLeft: number;
  #played = 0;
  #isRead = false;
  #isClosed = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #ended = Promise.withResolvers<void>();
  #arrival = Promise.withResolvers<void>();

  constructor(params: ScriptedLiveConnectionParams) {
    const { request, steps, recordSent, abortSignal } = params;
    this.request = request;
    this.takesInterimResponses = params.takesInterimResponses;
    this.tellsConsumed = params.tellsConsumed;
    this.needsCallIds = params.needsCallIds;
    this.#steps = steps;
    this.#recordSent = recordSent;
    this.#cuesLeft = steps.filter(isCue).length;
    const abort = () => this.#end(new RunAbortedError('the call was aborted', { cause: abortSignal?.reason }));
    abortSignal?.addEventListener('abort', abort, { once: true });
    void this.#ended.promise.then(() => abortSignal?.removeEventListener('abort', abort));
  }

  /** The messages that were sent, in order: the history, then the requests of the client. Empty with `recordSent: false`. */
  get sent(): readonly LiveSent[] {
    return this.#sent;
  }

  /** True once the client has closed the connection. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Number of steps that were not played. */
  get stepsLeft(): number {
    return this.#steps.length - this.#played;
  }

  /** Settles once the connection has ended: closed by the client, aborted, or ended by its script. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Waits for a sent message that matches, and returns the first one. */
  async heard(matcher: LiveSentMatcher): Promise<LiveSent> {
    for (let index = 0; ; index++) {
      while (index >= this.#sent.length) await this.#arrival.promise;
      const sent = this.#sent[index];
      if (sent && matchesSent(sent, matcher)) return sent;
    }
  }

  sendHistory(history: readonly Content[], isWaiting = false): Promise<void> {
    return this.#take({ history: structuredClone(history), ...(isWaiting && { isWaiting }) });
  }

  sendContent(content: Content): Promise<void> {
    return this.#take({ content: structuredClone(content) });
  }

  sendToolResponses(responses: readonly FunctionResponse[]): Promise<void> {
    return this.#take({ toolResponses: structuredClone(responses) });
  }

  sendRealtime(blob: Blob): Promise<void> {
    return this.#take({ blob });
  }

  sendActivityStart(): Promise<void> {
    return this.#take({ activityStart: true });
  }

  sendActivityEnd(): Promise<void> {
    return this.#take({ activityEnd: true });
  }

  async *receive(): AsyncGenerator<LiveLlmResponse, void, void> {
    if (this.#isRead) throw new LiveConnectionError('a connection can be read only once', { isRetryable: false });
    this.#isRead = true;
    for (const step of this.#steps) {
      const responses = this.#isEnded() ? undefined : await this.#play(step);
      if (!responses) break;
      this.#played++;
      for (const response of responses) {
        if (this.#isEnded()) return;
        yield response;
      }
    }
    await this.#ended.promise;
    this.#isEnded();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#ended.resolve();
    return Promise.resolve();
  }

  /** Returns the responses of a step; undefined if the connection ended before the step did. */
  async #play(step: ScriptedLiveStep): Promise<readonly LiveLlmResponse[] | undefined> {
    if (typeof step === 'string') return [textResponse(step)];
    if (typeof step === 'function') {
      try {
        return (await step(this.#sent)).map((said) => (typeof said === 'string' ? textResponse(said) : said));
      } catch (error) {
        this.#end(error);
        return [];
      }
    }
    if (step instanceof Gate) return this.#unlessEnded(step.pass());
    if (isCue(step)) return this.#unlessEnded(this.#hear(step.heard));
    if (!('ends' in step)) return [step];
    if (step.ends === 'hangUp') {
      this.#ended.resolve();
      return undefined;
    }
    this.#end(typeof step.ends === 'number' ? closedWith(step.ends) : step.ends);
    return [];
  }

  async #unlessEnded(waiting: Promise<void>): Promise<readonly never[] | undefined> {
    await Promise.race([waiting, this.#ended.promise]);
    return this.#isClosed || this.#failure ? undefined : [];
  }

  async #hear(matcher: LiveSentMatcher): Promise<void> {
    for (;;) {
      const sent = this.#unheard.shift();
      if (!sent) await this.#arrival.promise;
      else if (matchesSent(sent, matcher)) break;
    }
    if (--this.#cuesLeft === 0) this.#unheard = [];
  }

  #take(sent: LiveSent): Promise<void> {
    if (this.#isClosed)
      return Promise.reject(new LiveConnectionError('the connection is closed', { isRetryable: false }));
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#recordSent) this.#sent.push(sent);
    if (this.#cuesLeft > 0) this.#unheard.push(sent);
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
    return Promise.resolve();
  }

  #end(error: unknown): void {
    if (this.#isClosed) return;
    this.#failure ??= { error };
    this.#ended.resolve();
  }

  /**
   * True if the client closed the connection.
   *
   * @throws the failure that ended it otherwise
   */
  #isEnded(): boolean {
    if (this.#isClosed) return true;
    if (this.#failure) throw this.#failure.error;
    return false;
  }
}

function isCue(step: ScriptedLiveStep): step is LiveCue {
  return typeof step === 'object' && 'heard' in step;
}

function textResponse(text: string): LiveLlmResponse {
  return { content: { role: 'model', parts: [{ text }] } };
}

function closedWith(closeCode: number): LiveConnectionError {
  return new LiveConnectionError(`the connection ended with code ${closeCode}`, { closeCode, isRetryable: true });
}
