import { type LiveLlmResponse, type LlmRequest, type Content, contentText, type LiveRequest } from '@eventloom/core';
import type { Gate } from '../gate.ts';
import type { RequestExpectation } from '../scripted-model/request-expectation.ts';

/**
 * One step of a live connection: a chunk of text, a response, a gate that delays the following steps, a wait for a
 * request of the client, the end of the connection, or a function that computes responses from the requests so far.
 */
export type ScriptedLiveStep = string | LiveLlmResponse | Gate | LiveCue | LiveEnd | ScriptedLiveFunction;

/** Computes the responses at this step. If it throws, the connection ends with that error. */
export type ScriptedLiveFunction = (
  sent: readonly LiveSent[],
) => readonly (string | LiveLlmResponse)[] | Promise<readonly (string | LiveLlmResponse)[]>;

/** Waits until the client has sent a matching request after the requests that earlier cues matched. */
export interface LiveCue {
  readonly heard: LiveSentMatcher;
}

/**
 * Ends the connection: the reader and all later sends get the error. A number is the WebSocket close code of a retryable error. With
 * `'hangUp'` the service ends the conversation: the reader ends without an error.
 */
export interface LiveEnd {
  readonly ends: number | Error | 'hangUp';
}

/** The script of one connection: a list of steps, an error that refuses the setup, or a script with all options. */
export type ScriptedLiveScript = readonly ScriptedLiveStep[] | Error | ScriptedLiveConnectionScript;

/** The script of one connection with all options. After its last step the connection stays open until the client closes it. */
export interface ScriptedLiveConnectionScript {
  readonly steps?: readonly ScriptedLiveStep[];
  /** An error that `connect` throws, as if the service refused the setup or could not be reached. Default: none. */
  readonly refuse?: Error;
  /** Expectations about the setup request. Default: any request is accepted. */
  readonly expect?: RequestExpectation;
  /** Delays `connect` until the test opens the gate. Default: no delay. */
  readonly gate?: Gate;
  /** Capabilities that the connection reports; see BaseLlmConnection. Default false. */
  readonly takesInterimResponses?: boolean;
  readonly tellsConsumed?: boolean;
  readonly needsCallIds?: boolean;
}

/** Creates the script of each connection. The number of connections is then unlimited. @param index number of the connection, from 0 */
export type ScriptedLiveFactory = (request: LlmRequest, index: number) => ScriptedLiveScript;

/** One message that was sent to a live connection: a request of the client, or the history at the start. */
export type LiveSent = LiveRequest | { readonly history: readonly Content[]; readonly isWaiting?: true };

/** The kinds of sent messages, named after the field that holds the message. */
export type LiveSentKind = 'history' | 'content' | 'blob' | 'activityStart' | 'activityEnd' | 'toolResponses';

/** Matches a sent message by its kind, by a pattern in its text, or by a function. */
export type LiveSentMatcher = LiveSentKind | RegExp | ((sent: LiveSent) => boolean);

/** Returns true if the message matches. A pattern is tested against the text of contents and the JSON of tool responses. */
export function matchesSent(sent: LiveSent, matcher: LiveSentMatcher): boolean {
  if (typeof matcher === 'string') return matcher in sent;
  return typeof matcher === 'function' ? matcher(sent) : matcher.test(textOf(sent));
}

function textOf(sent: LiveSent): string {
  if ('content' in sent) return contentText(sent.content);
  if ('history' in sent) return sent.history.map(contentText).join('\n');
  return 'toolResponses' in sent ? JSON.stringify(sent.toolResponses) : '';
}
