import {
  type Content,
  createEventActions,
  type Event,
  type FunctionCall,
  type FunctionResponse,
  type InvocationContext,
  LiveConnectionError,
  type LiveLlmResponse,
  type LlmRequest,
  RunAbortedError,
  type BaseAgent,
} from '@eventloom/core';
import {
  type AbortGuard,
  createErrorEvent,
  EventQueue,
  moveResponseParts,
  type ObservedOperation,
  type SessionCall,
  Calls,
} from '@eventloom/core/internal';
import { type LlmAgent, isLlmAgent } from '@eventloom/llm-agent';
import {
  createTurn,
  missingToolsetsEvent,
  ModelCall,
  type AgentTurn,
  effectOfAnswers,
  prepareTools,
} from '@eventloom/llm-agent/internal';
import { CloseTimeout } from './close-timeout.ts';
import { givesControlAway, LiveToolCalls } from './live-tool-calls.ts';
import { type Ending, LiveEnding } from './live-ending.ts';
import { LiveInput } from './live-input.ts';
import { LiveOutput } from './live-output.ts';
import { type LiveRecordings, recordingsOf } from './live-recordings.ts';
import { prepareLiveRequest } from './prepare-live-request.ts';
import type { QueueLiveRun } from './queue-live-run.ts';
import { isLoss, ReconnectPolicy } from './reconnect-policy.ts';
import { closeConnection, ServiceSession } from './service-session.ts';

/** Time that callbacks, stores and transfers have to finish after the client disconnected, in milliseconds. */
const CALLBACK_TIMEOUT_MS = 4000;
/** Time that saving audio has to finish after the client disconnected, in milliseconds. */
const SAVE_TIMEOUT_MS = 30_000;
/** The error code of the last event of a run that ends with the service's time limit. */
const SESSION_TIME_LIMIT = 'SESSION_TIME_LIMIT';

/**
 * Runs an agent live: the counterpart of the loop of model and tool calls. Receiving, sending and tool calls run concurrently with this
 * generator; each event waits until the reader has committed the previous one.
 */
export async function* runLiveFlow(
  agent: LlmAgent,
  context: InvocationContext,
  run: QueueLiveRun,
): AsyncGenerator<Event, void, void> {
  const emitted = new EventQueue();
  const flow = new LiveFlow(createTurn(agent, context), emitted, run);
  const running = flow.run();
  emitted.endWith(running);
  try {
    for (let event = await emitted.next(); event; event = await emitted.next()) yield event;
  } finally {
    emitted.close();
    flow.stop();
    await running.catch(() => undefined);
    run.sessionYielded();
  }
  // The run that takes the session aborts this one.
  if ((await running) === 'takenOver') await context.untilAborted(Promise.withResolvers<never>().promise);
}

/** One agent's part of a live run: its connections, one after the other, and the input, output and calls around them. */
export class LiveFlow {
  readonly #turn: AgentTurn;
  readonly #context: InvocationContext;
  readonly #emitted: EventQueue;
  readonly #run: QueueLiveRun;
  readonly #serviceSession: ServiceSession;
  readonly #recordings: LiveRecordings | undefined;
  readonly #input: LiveInput;
  readonly #output: LiveOutput;
  readonly #calls: LiveToolCalls;
  readonly #policy: ReconnectPolicy;
  readonly #ending: LiveEnding;
  readonly #closeTimeout: CloseTimeout;
  readonly #saveTimeout: CloseTimeout;
  /** Aborted when no further connection is opened: waits for a connection end. */
  readonly #connecting: AbortGuard;
  #tools: LlmRequest['toolsDict'] = {};
  /** True if the service ended the conversation. */
  #hasHungUp = false;

  constructor(turn: AgentTurn, emitted: EventQueue, run: QueueLiveRun) {
    const { context } = turn;
    const { queue } = run;
    this.#turn = turn;
    this.#context = context;
    this.#emitted = emitted;
    this.#run = run;
    this.#serviceSession = new ServiceSession(context, run);
    this.#connecting = context.abortGuard.fork();
    const ending = new LiveEnding(this.#serviceSession, this.#connecting);
    this.#ending = ending;
    this.#closeTimeout = new CloseTimeout({ context, queue, timeoutMs: CALLBACK_TIMEOUT_MS, ending });
    this.#saveTimeout = new CloseTimeout({ context, queue, timeoutMs: SAVE_TIMEOUT_MS, ending });
    void run.whenToYieldSession().then(() => this.#ending.end('takenOver'));
    this.#recordings = recordingsOf({ context, flow: this, closeTimeout: this.#saveTimeout });
    const shared = { context, run, serviceSession: this.#serviceSession, flow: this };
    const media = { recordings: this.#recordings, closeTimeout: this.#closeTimeout };
    this.#policy = new ReconnectPolicy({ ...shared, ending, waiting: this.#connecting });
    this.#input = new LiveInput({ ...shared, ...media });
    this.#output = new LiveOutput({ turn, flow: this, ...media });
    this.#calls = new LiveToolCalls(shared);
  }

  /** Converses until there is a reason to stop, and resolves to the reason. @throws the failure of the run */
  async run(): Promise<Ending | undefined> {
    const { abortSignal, progress } = this.#context;
    const hangUp = (): void => void this.#serviceSession.close();
    abortSignal.addEventListener('abort', hangUp, { once: true });
    progress.endsItself = true;
    try {
      await this.#runConnections();
      await this.#finish();
      return this.#ending.reason;
    } finally {
      progress.endsItself = false;
      this.#context.abortGuard.drop(this.#connecting);
      this.#closeTimeout.end();
      this.#saveTimeout.end();
      abortSignal.removeEventListener('abort', hangUp);
    }
  }

  /** Ends the flow at once, because its events have no reader. */
  stop(): void {
    this.#ending.end('stopped');
  }

  /** Yields an event, and resolves when it is stored. @throws RunAbortedError when the run has no reader */
  async emit(event: Event): Promise<void> {
    if (!(await this.#emitted.emit(event))) throw new RunAbortedError('the reader of this run stopped reading');
    this.#endIfDone();
  }

  /** Ends the flow with a failure that is not a tool's: of a callback or a store. */
  fail(error: unknown): void {
    this.#ending.fail(error);
  }

  /** Ends the flow with a failure, unless it is a lost connection or an aborted run, which the reader of the connection reports. */
  failUnlessLost(error: unknown): void {
    this.#ending.failUnlessLost(error);
  }

  /** Ends the flow after the client closed its queue and everything of it is sent. */
  inputEnded(): void {
    this.#ending.end('closed');
  }

  /** Resumes the calls that a stored request of the client answers. */
  resumeAnswered(event: Event): Promise<void> {
    return resumeAnswered(this.#turn, event, this.#tools, this.#calls, this);
  }

  /** Holds the client's requests back if one of the model's calls moves control: they are for the agent that gets it. */
  holdInput(calls: readonly FunctionCall[]): void {
    for (const call of calls) if (givesControlAway(call, this.#context)) this.#input.hold(call);
  }

  /** Starts the calls of a committed event. */
  startCalls(eventId: string, calls: readonly FunctionCall[]): void {
    this.#calls.start({ turn: this.#turn, tools: this.#tools, eventId, calls });
  }

  /** Sends the model a response to its call, and then media that it does not read in a response. */
  sendResponse(functionResponse: FunctionResponse): void {
    const { responseMedia } = this.#turn.model.capabilities();
    const { parts = [] } = moveResponseParts({ parts: [{ functionResponse }] }, responseMedia);
    const media = parts.slice(1);
    this.#input.responses.push({ toolResponses: [parts[0]?.functionResponse ?? functionResponse] });
    if (media.length > 0) this.send({ role: 'user', parts: media });
  }

  /** Sends the model content that is not a response. */
  send(content: Content): void {
    this.#input.responses.push({ content });
  }

  /** Continues after a call that has ended, with a response or without. */
  callEnded(call: FunctionCall): void {
    this.#input.settled(call);
    if (!this.#calls.isHandingOver) this.#input.release(call);
    // After the client has closed its queue, the hand-over does not wait for calls.
    else if (this.#calls.isBusy) void this.#run.queue.whenClosed().then(() => this.#ending.end('handedOver'));
    this.#endIfDone();
  }

  /** Opens one connection after the other. */
  async #runConnections(): Promise<void> {
    let isLost = false;
    try {
      while (!this.#ending.isEnded) {
        this.#input.watch(isLost);
        try {
          await this.#runConnection();
          isLost = false;
          if (this.#ending.isEnded) break;
          await this.#leave();
          this.#input.watch(false);
          await this.#policy.afterLeave();
        } catch (error) {
          if (this.#ending.isEnded) break;
          this.#context.throwIfAborted();
          await this.#leave();
          await this.#output.interrupt();
          isLost = isLoss(error);
          this.#input.watch(isLost);
          if (!this.#ending.isEnded) await this.#policy.afterLoss(error);
        } finally {
          await this.#leave();
        }
      }
    } catch (error) {
      if (this.#context.liveRequestQueue?.isClosed && isLoss(error)) await this.#emitLoss(error);
      else this.#ending.fail(error);
    }
    await this.#calls.stop();
    if (this.#hasHungUp) await this.#input.storeRest();
  }

  /** Stores written requests that were not sent, and emits the error of the lost connection, after the client closed its queue. */
  async #emitLoss(error: LiveConnectionError): Promise<void> {
    const { code, message, errorCode = code } = error;
    await this.#input.storeRest();
    await this.emit(createErrorEvent(this.#context.createEvent(), errorCode, message));
    this.#ending.end('closed');
  }

  /** Emits the words so far, after any end. @throws the failure of the run */
  async #finish(): Promise<void> {
    const { reason, failure } = this.#ending;
    if (reason === 'stopped') return;
    if (failure) {
      // An error here does not replace the failure.
      if (!this.#context.abortSignal.aborted) await this.#emitRest(true).catch(() => undefined);
      throw failure.error;
    }
    await this.#emitRest(reason === 'takenOver');
    if (reason !== 'timedOut') return;
    this.#context.endInvocation = true;
    const message = 'the service ended the session: its time is over, and runConfig.liveReconnect is false';
    await this.emit(createErrorEvent(this.#context.createEvent(), SESSION_TIME_LIMIT, message));
  }

  async #emitRest(isInterrupted: boolean): Promise<void> {
    await this.#output.flush(isInterrupted);
    await this.#recordings?.end();
  }

  /** Prepares a connection, and runs it to its end. */
  async #runConnection(): Promise<void> {
    const { model, context } = this.#turn;
    const { handle } = this.#serviceSession;
    // Without a handle the connection knows only the history, which must hold the words so far.
    if (handle === undefined) await this.#output.flush(true);
    const connecting = this.#connecting;
    const { call, replacement } = await connecting.until(
      this.#closeTimeout.until(this.#prepare(handle), 'an instruction, a toolset or beforeModelCallback'),
    );
    if (replacement) {
      await this.#output.replace(call, replacement);
      return this.#ending.end('replaced');
    }
    // A callback may have ended the invocation.
    this.#endIfDone();
    if (this.#ending.isEnded) return undefined;
    const { request } = call;
    this.#tools = request.toolsDict;
    context.progress.countLlmCall();
    this.#ending.reconnect();
    this.#run.connectionAttempts++;
    const operation = context.invocation.operations?.start({ kind: 'model', context, model, request, live: true });
    const converse = (): Promise<void> => this.#converse(request, handle, operation);
    await (operation ? operation.around(converse) : converse());
  }

  /** Opens a connection with a request and reads it to its end. */
  async #converse(
    request: LlmRequest,
    handle: string | undefined,
    operation: ObservedOperation | undefined,
  ): Promise<void> {
    const { model, context } = this.#turn;
    const connecting = this.#connecting;
    const opening = model.connect(request, connecting.signal);
    const connection = await connecting.until(opening).catch((error: unknown) => {
      // A connection that opens later is closed.
      void opening.then((late) => closeConnection(context, late)).catch(() => undefined);
      throw error;
    });
    if (this.#ending.isEnded) return closeConnection(context, connection);
    this.#policy.connected();
    if (handle === undefined) {
      await this.#serviceSession.begin(connection, request.contents);
      if (request.contents.length > 0) await this.#input.dropStored(request.contents);
    } else await this.#serviceSession.resume(connection);
    this.#input.start();
    for await (const response of connection.receive()) {
      operation?.response(response);
      await this.#take(response);
    }
    if (this.#ending.isLeaving) return;
    this.#hasHungUp = true;
    this.#endIfDone();
  }

  async #prepare(handle: string | undefined) {
    const actions = createEventActions();
    const request = await prepareLiveRequest(this.#turn, handle, this.#calls, actions);
    const missing = missingToolsetsEvent(this.#context);
    if (missing) await this.emit(missing);
    const call = new ModelCall(this.#turn, request, actions);
    return { call, replacement: await this.#output.begin(call) };
  }

  async #take(response: LiveLlmResponse): Promise<void> {
    this.#serviceSession.arrived(response);
    this.#policy.heard(response);
    this.#calls.cancel(response.toolCallCancellation?.ids ?? []);
    await this.#output.take(response);
    this.#serviceSession.note(response);
    // A turn may finish first. If the time does not suffice, the service ends the connection itself.
    if (this.#policy.isLeaveDue && !this.#output.isSpeaking) this.#ending.end('reconnecting');
    this.#endIfDone();
  }

  async #leave(): Promise<void> {
    await this.#serviceSession.hangUp();
    await this.#input.stop();
  }

  /** True when the model gets nothing more: the invocation was ended, the service hung up, or control moves to another agent. */
  get isDone(): boolean {
    return this.#context.endInvocation || this.#hasHungUp || this.#calls.isHandingOver;
  }

  /** Ends the flow after an ended invocation or conversation, or a transfer, once the calls have ended and their results are stored. */
  #endIfDone(): void {
    if (this.isDone && !this.#calls.isBusy) this.#ending.end(this.#calls.isHandingOver ? 'handedOver' : 'ended');
  }
}

/** Resumes the calls that an event of the client answers: those of the agent that has control, and those of agents before it. */
async function resumeAnswered(
  turn: AgentTurn,
  event: Event,
  ownTools: LlmRequest['toolsDict'],
  running: LiveToolCalls,
  flow: LiveFlow,
): Promise<void> {
  const { session, invocation } = turn.context;
  const stored = session.events.findLast(({ id }) => id === event.id);
  const answered = stored ? Calls.of(invocation).respondedIn(stored) : [];
  for (const theirs of [turn, ...otherAgents(turn, answered)]) {
    const { toSettle } = effectOfAnswers(answered, theirs.context);
    if (toSettle.size === 0) continue;
    const prepared = theirs === turn ? undefined : await prepareTools(theirs);
    if (prepared?.changes) await flow.emit(prepared.changes);
    const tools = prepared?.tools ?? ownTools;
    const calls = Array.from(toSettle.values(), ({ call }) => call);
    running.start({ turn: theirs, tools, eventId: '', calls, answered: toSettle });
  }
}

/** Returns the other agents that made these calls, without agents that the tree no longer has. */
function otherAgents({ agent, context }: AgentTurn, answered: readonly SessionCall[]): Iterable<AgentTurn> {
  const turns = new Map<BaseAgent, AgentTurn>();
  for (const { event, branch } of answered) {
    const other = context.invocation.rootAgent.findAgent(event.author);
    if (!other || other.name === agent.name || turns.has(other) || !isLlmAgent(other)) continue;
    turns.set(other, createTurn(other, context.forAgent(other, { branch })));
  }
  return turns.values();
}
