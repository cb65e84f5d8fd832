import {
  AgentError,
  callsToRun,
  createErrorEvent,
  createEventActions,
  type Event,
  type InvocationContext,
  isOutputMismatch,
  leavesAgent,
  type LlmResponse,
  ModelError,
  OutputSchemaError,
  ResponseAggregator,
  SET_MODEL_RESPONSE,
  STRUCTURED_OUTPUT,
} from '@eventloom/core';
import { startCodeRun } from './code-execution/code-run.ts';
import type { LlmAgent } from './llm-agent.ts';
import { type AgentTurn, resolveModel } from './agent-turn.ts';
import { missingToolsetsEvent } from './turn-toolsets.ts';
import { SetModelResponseTool, describeMismatch, readFinalOutput, saveOutput, structuredAnswer } from './output.ts';
import { ModelCall, ModelReply, plannedResponse } from './reply.ts';
import { prepareRequest, prepareTools } from './request.ts';
import { resumeSteps, answeredCalls, answersTo } from './resume.ts';
import { startCalls, type FunctionCallsOutcome } from './tool-calls.ts';

/** Answers of the wrong shape that go back to the model before the run fails. */
const MAX_MISMATCHES = 3;

/**
 * The think-act loop: ask the model, yield what it says, run what it calls, and again, until it calls nothing. One generator for
 * all of it, because every further one would cost each chunk.
 */
export async function* runSteps(agent: LlmAgent, context: InvocationContext): AsyncGenerator<Event, void, void> {
  const { resumedFrom } = context;
  const turn: AgentTurn = { agent, model: resolveModel(agent, context), context };
  // In a resumed run the agent that made the calls reads the answers itself: see resumeSteps.
  const answered = context.invocation.resumedFrom ? [] : answeredCalls(context);
  const answers = answered.length > 0 ? answersTo(answered, context) : undefined;
  const streaming = context.runConfig.streamingMode === 'sse';
  const codeRun = startCodeRun(context, agent.codeExecutor);
  let mismatches = resumedFrom?.events.filter(isOutputMismatch).length ?? 0;

  if (answers && answers.resumed.size > 0) {
    const calls = Array.from(answers.resumed.values(), ({ call }) => call);
    const { tools, changes } = await prepareTools(turn);
    if (changes) yield changes;
    const outcome = yield* startCalls(turn, calls, tools, NO_EVENT, answers.resumed).events();
    if (outcome.event) yield outcome.event;
    if (endsTurn(context, outcome)) return;
  }
  if (answers?.isWaiting) {
    context.pause();
    return;
  }
  if (resumedFrom) {
    if (!(yield* resumeSteps(turn, resumedFrom, codeRun))) return;
    resumedFrom.continueFresh();
  }

  while (!context.isEnded) {
    context.throwIfAborted();
    const actions = createEventActions();
    const prepared = prepareRequest(turn, actions);
    const call = new ModelCall(turn, prepared instanceof Promise ? await prepared : prepared, actions);
    const { request } = call;
    const missing = missingToolsetsEvent(context);
    if (missing) yield missing;
    const asked = call.before();
    let response: LlmResponse | undefined = asked && (await asked);
    const reply = new ModelReply(turn, request.toolsDict);
    if (!response) {
      context.countLlmCall();
      try {
        for await (const raw of call.generate(streaming)) {
          const changed = call.after(raw);
          const answer = changed instanceof Promise ? await changed : changed;
          if (answer.partial !== true) response = response ? joined(response, answer) : answer;
          else yield reply.chunk(answer);
        }
        response ??= reply.merged();
      } catch (error) {
        context.throwIfAborted();
        if (call.isOwnFailure(error)) throw error;
        response = await call.onError(error);
        if (!response) {
          yield failedReply(context, reply, error);
          context.markReported(error);
          throw error;
        }
      }
    }

    if (agent.planner) response = plannedResponse(turn, response, call.actions);
    if (callsToRun(response.content?.parts).length === 0) {
      const found = codeRun?.find(response);
      if (codeRun && found) {
        yield reply.whole({ ...response, content: found.content }, call.actions);
        if (context.isEnded) return;
        yield await codeRun.execute(found);
        continue;
      }
      const read = readFinalOutput(agent, response);
      const output = read instanceof Promise ? await read : read;
      if (output && 'issues' in output) {
        const errorMessage = describeMismatch(output.issues);
        yield reply.whole({ ...response, errorCode: OutputSchemaError.code, errorMessage }, call.actions);
        if (++mismatches > MAX_MISMATCHES) throw mismatchError(agent, errorMessage);
        continue;
      }
      if (output) saveOutput(turn, call.actions, output.value);
      const event = reply.whole(response, call.actions);
      yield output && agent.outputValueSchema ? { ...event, [STRUCTURED_OUTPUT]: output.value } : event;
      return;
    }

    const callEvent = reply.whole(response, call.actions);
    yield callEvent;
    if (context.isEnded) return;

    const origin = { eventId: callEvent.id };
    const running = startCalls(turn, callsToRun(callEvent.content?.parts), request.toolsDict, origin);
    const outcome = (await running.outcome()) ?? (yield* running.events());
    if (outcome.event) yield outcome.event;
    const answer = request.toolsDict[SET_MODEL_RESPONSE];
    if (answer instanceof SetModelResponseTool) {
      if (answer.accepted) {
        yield structuredAnswer(turn, answer.accepted.value);
        return;
      }
      if (answer.issues && ++mismatches > MAX_MISMATCHES) throw mismatchError(agent, describeMismatch(answer.issues));
    }
    if (endsTurn(context, outcome)) return;
  }
}

/** Calls that a person's answer sets off have an event each. */
const NO_EVENT = { eventId: '' };

/** True when the model is not to be asked about these results. Whom the agent hands over to, whoever drives it reads from the event. */
function endsTurn(context: InvocationContext, { event, isWaiting }: FunctionCallsOutcome): boolean {
  if (isWaiting) context.pause();
  return isWaiting || (event !== undefined && leavesAgent(event.actions));
}

/** A model that gives several whole responses to one request said all of it. */
function joined(first: LlmResponse, second: LlmResponse): LlmResponse {
  const aggregator = new ResponseAggregator();
  aggregator.add(first);
  aggregator.add(second);
  return aggregator.finish();
}

/** The event of a reply that failed: what was received of it, without calls, and why it ended. */
function failedReply(context: InvocationContext, reply: ModelReply, thrown: unknown): Event {
  const { publicMessage } = AgentError.around(thrown, `the model of agent "${context.agent.name}"`);
  const code = ModelError.isInstance(thrown) ? thrown.errorCode : 'MODEL_ERROR';
  return createErrorEvent(context.createEvent(reply.broken()), code, publicMessage);
}

function mismatchError(agent: LlmAgent, errorMessage: string): OutputSchemaError {
  return new OutputSchemaError(`agent "${agent.name}": ${errorMessage} It was told ${MAX_MISMATCHES} times.`);
}
