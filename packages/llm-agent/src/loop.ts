import {
  AgentError,
  ConfigurationError,
  contentText,
  createEventActions,
  type Event,
  EventloomError,
  type InvocationContext,
  type LlmResponse,
  ModelError,
  OutputSchemaError,
} from '@eventloom/core';
import {
  callsToRun,
  createErrorEvent,
  errorCodeOf,
  FINISH_TASK,
  hasResponses,
  STRUCTURED_OUTPUT,
  SET_MODEL_RESPONSE,
  ResponseAggregator,
} from '@eventloom/core/internal';
import { startCodeRun } from './code-execution/code-run.ts';
import { isOutputMismatch } from './contents/event-content.ts';
import type { LlmAgent } from './llm-agent.ts';
import { type AgentTurn, createTurn } from './agent-turn.ts';
import { missingToolsetsEvent } from './turn-toolsets.ts';
import { ModelCall, plannedResponse, readResponse, RESPONSE } from './model-call.ts';
import { OutputTool, describeMismatch, readFinalOutput, saveOutput, toOutputEvent, withOutput } from './output.ts';
import { prepareRequest } from './request.ts';
import { finishStep } from './resume.ts';
import { RunningCalls } from './running-calls.ts';

/** Number of replies that may fail the output schema and be returned to the model. One more fails the run. */
const MAX_MISMATCHES = 3;

/**
 * Runs an agent's turn: calls the model, yields its reply, runs the tool calls of the reply, and repeats this until a reply has no calls.
 * It is one generator, because each nested generator would cost time for every chunk.
 */
export async function* runSteps(agent: LlmAgent, context: InvocationContext): AsyncGenerator<Event, void, void> {
  const turn = createTurn(agent, context);
  const streaming = context.runConfig.streamingMode === 'sse';
  const codeRun = agent.codeExecutor && startCodeRun(context, agent.codeExecutor);
  const isTask = agent.mode === 'task';
  // True if the text of the last reply is also the agent's output. A task hands its output in with a call.
  const hasOutput =
    !isTask && (agent.outputKey !== undefined || agent.outputValueSchema !== undefined || agent.mode !== undefined);
  let mismatches = context.resumedFrom?.events.filter(isOutputMismatch).length ?? 0;

  if (hasStepToFinish(context)) {
    const end = yield* finishStep(turn, codeRun);
    if (end === 'asks' || end === 'waits') context.pause();
    if (end === 'ends' || end === 'waits') return;
  }

  while (!context.endInvocation) {
    context.throwIfAborted();
    const actions = createEventActions();
    const prepared = prepareRequest(turn, actions);
    const call = new ModelCall(turn, prepared instanceof Promise ? await prepared : prepared, actions);
    const missing = turn.fixedRequest ? undefined : missingToolsetsEvent(context);
    if (missing) yield missing;
    let response: LlmResponse | undefined = call.hasBeforeCallbacks ? await call.before() : undefined;
    if (!response) {
      context.progress.countLlmCall();
      try {
        for await (const received of call.generate(streaming)) {
          call.operation?.response(received);
          const raw = readResponse(agent, received);
          const chunk = call.hasAfterCallbacks ? await call.after(raw) : raw;
          if (chunk.partial === true) yield call.toChunkEvent(chunk);
          else response = response ? joined(response, chunk) : chunk;
        }
        call.operation?.succeed();
        response ??= readResponse(agent, call.mergedResponse());
      } catch (error) {
        if (!call.isOwnFailure(error)) call.operation?.fail(error);
        context.throwIfAborted();
        if (call.isOwnFailure(error)) throw error;
        response = yield* replaceFailure(turn, call, error);
      } finally {
        call.operation?.leave();
        // A reply that an abort of the run interrupted is stored by the runner, as far as readers got it.
        if (!context.invocation.abort.signal.aborted) context.progress.run.openReplies?.delete(call);
      }
    }

    if (agent.planner) response = plannedResponse(turn, response, call.actions);
    if (callsToRun(response.content?.parts).length === 0) {
      const found = codeRun?.find(response);
      if (codeRun && found) {
        yield call.toReplyEvent({ ...response, content: found.content });
        if (context.endInvocation) return;
        yield await codeRun.execute(found);
        continue;
      }
      const output = hasOutput ? await readFinalOutput(agent, response) : undefined;
      if (output && 'issues' in output) {
        const errorMessage = describeMismatch(output.issues);
        yield call.toReplyEvent({ ...response, errorCode: OutputSchemaError.code, errorMessage });
        if (++mismatches > MAX_MISMATCHES) throw mismatchError(agent, errorMessage);
        continue;
      }
      const event = call.toReplyEvent(response);
      if (output && agent.mode === 'single_turn') {
        yield withOutput(turn, event, output.value);
        return;
      }
      if (output) saveOutput(turn, event.actions, output.value);
      const last = output && agent.outputValueSchema ? { ...event, [STRUCTURED_OUTPUT]: output.value } : event;
      if (agent.endsWithReply && last.actions.transferToAgent === undefined) context.lastEvent = last;
      yield last;
      return;
    }

    const reply = call.toReplyEvent(response);
    // Until the result of a long-running tool comes, the text beside its call is the reply that others can read.
    if (hasOutput && !agent.outputValueSchema && reply.longRunningToolIds) {
      const text = contentText(reply.content);
      if (text !== '') saveOutput(turn, reply.actions, text);
    }
    yield reply;
    if (context.endInvocation) return;

    const tools = call.request.toolsDict;
    const running = new RunningCalls({ turn, calls: call.calls, tools, eventId: reply.id });
    const settled = running.outcome();
    const outcome = (settled instanceof Promise ? await settled : settled) ?? (yield* running.events());
    const outputTool = isTask ? tools[FINISH_TASK] : agent.outputValueSchema && tools[SET_MODEL_RESPONSE];
    const output = outputTool instanceof OutputTool ? outputTool.output : undefined;
    if (output && 'value' in output && isTask && outcome.event) {
      yield withOutput(turn, outcome.event, output.value);
      return;
    }
    if (outcome.event) yield outcome.event;
    if (output && 'value' in output) {
      yield toOutputEvent(turn, output.value);
      return;
    }
    if (output && ++mismatches > MAX_MISMATCHES) throw mismatchError(agent, describeMismatch(output.issues));
    const { end } = outcome;
    if (end === 'asks' || end === 'waits') context.pause();
    if (end === 'ends' || end === 'waits') return;
  }
}

/** Returns true if the agent must finish an interrupted step, or calls that a person answered, before its model is called. */
function hasStepToFinish({ resumedFrom, invocation, invocationId, executionId }: InvocationContext): boolean {
  if (resumedFrom) return true;
  // In a resumed run, the agent that made the calls reads the answers once it is resumed itself. The first agent may have stored nothing
  // since the answer that began the run.
  if (invocation.resumedLog) return executionId === invocationId && hasResponses(invocation.userContent);
  const { events } = invocation.session;
  let at = events.length - 1;
  while (at >= 0 && events[at]?.author !== 'user') at--;
  return hasResponses(events[at]?.content);
}

/** Merges two whole responses to one request into one. */
function joined(first: LlmResponse, second: LlmResponse): LlmResponse {
  const aggregator = new ResponseAggregator();
  aggregator.add(first);
  aggregator.add(second);
  return aggregator.finish();
}

/** Returns the response that a callback gives in place of a failed model call. Otherwise yields an error event, and throws the failure. */
async function* replaceFailure(
  turn: AgentTurn,
  call: ModelCall,
  thrown: unknown,
): AsyncGenerator<Event, LlmResponse, void> {
  const response = await call.onError(thrown);
  if (response) return response;
  const failure = toFailure(thrown, turn);
  yield createErrorEvent(call.toBrokenEvent(), errorCodeOf(failure), failure.publicMessage, failure.code);
  turn.context.progress.markReported(failure);
  throw failure;
}

/** Converts a thrown value to the error that the run reports: an EventloomError unchanged, anything else as the cause of a ModelError. */
function toFailure(thrown: unknown, { agent, model }: AgentTurn): EventloomError {
  if (EventloomError.isInstance(thrown)) return thrown;
  // Not checked before the call, because a function of the program may return the generator of another model.
  const isPromised = model.generateContentAsync.constructor.name === 'AsyncFunction';
  if (thrown instanceof TypeError && (isPromised || /async iterable|asyncIterator/.test(thrown.message)))
    return new ConfigurationError(
      `agent "${agent.name}": model: generateContentAsync: expected an async generator; write async *generateContentAsync(request) { yield ${RESPONSE} }`,
      { cause: thrown },
    );
  const { message, publicMessage } = AgentError.around(thrown, `the model of agent "${agent.name}"`);
  return new ModelError(message, { errorCode: 'MODEL_ERROR', cause: thrown, publicMessage });
}

function mismatchError(agent: LlmAgent, errorMessage: string): OutputSchemaError {
  return new OutputSchemaError(
    `agent "${agent.name}": ${errorMessage} The model was asked again ${MAX_MISMATCHES} times.`,
  );
}
