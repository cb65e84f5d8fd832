import {
  type Event,
  type FunctionCall,
  type InvocationContext,
  type Part,
  REQUEST_CONFIRMATION,
  REQUEST_CREDENTIAL,
  REQUEST_INPUT,
} from '@eventloom/core';
import {
  Calls,
  getOwn,
  type InputRequestParams,
  inputRequestOf,
  isInput,
  isPersonRequest,
  isRecord,
  isTransfer,
  isVisibleOn,
  newestFirst,
} from '@eventloom/core/internal';
import { isLongRunning, toA2AParts } from './parts.ts';
import { CONTEXT_ID, questionOf, TASK_ID } from './task-view.ts';
import type { A2APart, A2AStatus } from './wire.ts';

/** Key of the remote question in the payload of a request for input. */
const QUESTION = 'a2a';
/** Longest key of a request for input, and longest text of a question, in characters. */
const MAX_KEY = 256;
const MAX_WORDS = 10_000;

/** A question of a remote agent, in the payload of the request for input. */
interface RemoteQuestion {
  readonly taskId: string;
  readonly contextId: string;
  /** The calls that the answer responds to. Empty: the answer is a message. */
  readonly calls: readonly FunctionCall[];
}

/** A question of the remote agent that this run answers or waits for. */
interface AgentQuestion extends RemoteQuestion {
  readonly callId: string;
  readonly params: InputRequestParams;
}

/** The part of the conversation with a remote agent that the session has. */
interface RemoteConversation {
  /** Id of the context on the server; undefined before the first answer. */
  readonly contextId: string | undefined;
  /** The question that this run answers or waits for. */
  readonly question: AgentQuestion | undefined;
  /** The message for the remote agent: everything that it has not seen. */
  readonly unseen: readonly A2APart[];
  /** Id of the task whose answer this execution of the agent had begun to read before its run was resumed. */
  readonly begunTaskId?: string | undefined;
}

/** Reads the events that the agent sees, from the newest one back to the last one of its own. */
export function readConversation(context: InvocationContext): RemoteConversation {
  const { agent, branch, executionId, invocation, invocationId, resumedFrom, session } = context;
  const calls = Calls.of(invocation);
  const unseen: Event[] = [];
  for (const event of newestFirst(session.events)) {
    if (!isVisibleOn(event.branch, branch)) continue;
    const question = event.author === agent.name ? questionIn(event) : undefined;
    const contextId = question?.contextId ?? event.customMetadata?.[CONTEXT_ID];
    if (event.author === agent.name && typeof contextId === 'string') {
      const request = question && calls.madeIn(event).find(({ id }) => id === question.callId);
      const isAnsweredNow = request?.responses.some((response) => response.event.invocationId === invocationId);
      const isOpen = event.invocationId === invocationId || isAnsweredNow === true;
      const parts = unseen.reverse().flatMap((each) => toMessageParts(each, agent.name));
      const isBegun = resumedFrom && event.invocationId === invocationId && event.executionId === executionId;
      const taskId = event.customMetadata?.[TASK_ID];
      return {
        contextId,
        question: isOpen ? question : undefined,
        unseen: parts,
        begunTaskId: isBegun && !question && typeof taskId === 'string' ? taskId : undefined,
      };
    }
    unseen.push(event);
  }
  return {
    contextId: undefined,
    question: undefined,
    unseen: unseen.reverse().flatMap((each) => toMessageParts(each, agent.name)),
  };
}

/** Returns the agent's events of a task, oldest first. */
export function eventsOf({ agent, session }: InvocationContext, taskId: string): Event[] {
  return Array.from(newestFirst(session.events))
    .filter(({ author, customMetadata }) => author === agent.name && customMetadata?.[TASK_ID] === taskId)
    .reverse();
}

/** Returns the parts of an event for the remote agent: the user's as they are, and those of other agents as a report. */
function toMessageParts(event: Event, name: string): A2APart[] {
  const { author, content, partial } = event;
  if (partial === true || author === name) return [];
  if (isInput(event)) return toA2AParts(content?.parts?.filter((part) => !part.functionCall && !part.functionResponse));
  const said = toA2AParts((content?.parts ?? []).flatMap((part) => toReport(author, part)));
  return said.length > 0 ? [{ text: 'For context:' }, ...said] : [];
}

function toReport(author: string, part: Part): Part[] {
  const { text, thought, functionCall, functionResponse, inlineData, fileData } = part;
  if (thought === true) return [];
  if (text !== undefined) return text === '' ? [] : [{ text: `[${author}] said: ${text}` }];
  if (inlineData || fileData) return [part];
  const call = functionCall ?? functionResponse;
  if (!call || isTransfer(call) || isPersonRequest(call)) return [];
  return [
    {
      text: functionCall
        ? `[${author}] called tool \`${functionCall.name}\` with parameters: ${JSON.stringify(functionCall.args ?? {})}`
        : `[${author}] tool \`${functionResponse?.name}\` returned result: ${JSON.stringify(functionResponse?.response ?? {})}`,
    },
  ];
}

/** Returns the question that an event asks for the remote agent. */
function questionIn({ content }: Event): AgentQuestion | undefined {
  const call = content?.parts?.find(({ functionCall }) => functionCall?.name === REQUEST_INPUT)?.functionCall;
  const params = call && inputRequestOf(call);
  const question = isRecord(params?.payload) ? params.payload[QUESTION] : undefined;
  if (!params || !isRecord(question)) return undefined;
  const { taskId, contextId, calls } = question;
  if (typeof taskId !== 'string' || typeof contextId !== 'string' || !Array.isArray(calls)) return undefined;
  return { taskId, contextId, calls: calls.filter(isCall), callId: call.id ?? '', params };
}

function isCall(value: unknown): value is FunctionCall {
  return isRecord(value) && typeof value['id'] === 'string' && typeof value['name'] === 'string';
}

/** Returns the text of the message of a status. */
export function wordsOf({ message }: A2AStatus): string {
  const texts = message?.parts.flatMap(({ text }) => text ?? []) ?? [];
  return texts.join('\n').slice(0, MAX_WORDS);
}

/**
 * Returns the request for the input that a task waits for; undefined if it waits for a credential, which must not get into the session.
 * @param callId the request that this run answered: the same question of the task is a further request
 */
export function toRequest(
  status: A2AStatus,
  taskId: string,
  contextId: string,
  callId: string | undefined,
): InputRequestParams | undefined {
  const { message } = status;
  const calls = (message?.parts ?? []).flatMap(({ data, metadata }) =>
    isLongRunning(metadata) && isCall(data) ? [data] : [],
  );
  if (status.state === 'TASK_STATE_AUTH_REQUIRED' || calls.some(({ name }) => name === REQUEST_CREDENTIAL))
    return undefined;
  const [first, ...others] = calls;
  const asked = first ? calls.map(({ id }) => id).join(' ') : message?.messageId;
  // A server of the ADK has the calls alone.
  const words = wordsOf(status) || calls.map(questionOf).join('\n').slice(0, MAX_WORDS);
  return {
    key: `${callId === undefined ? '' : `${callId} `}${taskId} ${asked ?? ''}`.slice(0, MAX_KEY),
    ...(words === '' ? {} : { message: words }),
    payload: { [QUESTION]: { taskId, contextId, calls } satisfies RemoteQuestion },
    ...(first && others.length === 0 ? { responseSchema: schemaOf(first) } : {}),
    ...(others.length > 0
      ? {
          responseSchema: {
            type: 'object',
            properties: Object.fromEntries(calls.map((call) => [call.id, schemaOf(call)])),
            required: calls.map(({ id }) => id),
          },
        }
      : {}),
  };
}

/** Returns the schema of the answer to a call. The server checks the answer to its own schema. */
function schemaOf({ name }: FunctionCall): object {
  if (name === REQUEST_CONFIRMATION)
    return { type: 'object', properties: { confirmed: { type: 'boolean' } }, required: ['confirmed'] };
  return name === REQUEST_INPUT ? {} : { type: 'object' };
}

/** Returns the message with an answer: responses to the calls that were asked for, or the answer itself. */
export function toAnswerParts(answer: unknown, calls: readonly FunctionCall[]): A2APart[] {
  if (calls.length === 0) {
    if (isRecord(answer)) return [{ data: answer }];
    return [{ text: typeof answer === 'string' ? answer : JSON.stringify(answer) }];
  }
  const parts = calls.map(({ id = '', name = '' }) => {
    const given = calls.length === 1 || !isRecord(answer) ? answer : getOwn(answer, id);
    const response = isRecord(given) && name !== REQUEST_INPUT ? given : { result: given };
    return { functionResponse: { id, name, response } };
  });
  return toA2AParts(parts);
}
