import { type LiveLlmResponse, type LlmRequest, type Content, contentText, type LiveRequest } from '@eventloom/core';
import type { Gate } from '../gate.ts';
import type { RequestExpectation } from '../scripted-model/request-expectation.ts';

/**
 * One step of a live connection: a piece of text, a response, a gate that holds what follows, a wait for what the client sends, the
 * end of the connection, or a function that makes responses of what was sent so far.
 */
export type ScriptedLiveStep = string | LiveLlmResponse | Gate | LiveCue | LiveEnd | ScriptedLiveFunction;

/** Makes what is said at this place of the script. What it throws ends the connection. */
export type ScriptedLiveFunction = (
  sent: readonly LiveSent[],
) => readonly (string | LiveLlmResponse)[] | Promise<readonly (string | LiveLlmResponse)[]>;

/** Holds what follows until the client has sent this, after what earlier cues of the script waited for. */
export interface LiveCue {
  readonly heard: LiveSentMatcher;
}

/** The connection ends: the reader and all later sends get this error. A number is a WebSocket close code, as of a retryable error. */
export interface LiveEnd {
  readonly ends: number | Error;
}

/** One connection. A list is its steps, an error refuses the setup. */
export type ScriptedLiveScript = readonly ScriptedLiveStep[] | Error | ScriptedLiveConnectionScript;

/** A connection in full. After its last step it stays open and silent until the client closes it. */
export interface ScriptedLiveConnectionScript {
  readonly steps?: readonly ScriptedLiveStep[];
  /** Thrown by `connect`: the service refuses the setup, or cannot be reached. */
  readonly refuse?: Error;
  /** Expectations about the request. */
  readonly expect?: RequestExpectation;
  /** Holds `connect` until the test opens it. */
  readonly gate?: Gate;
  /** Capabilities that the connection reports; see BaseLlmConnection. Default false. */
  readonly takesInterimResponses?: boolean;
  readonly tellsConsumed?: boolean;
  readonly needsCallIds?: boolean;
}

/** Makes the script of a connection; for as many as there come. */
export type ScriptedLiveFactory = (request: LlmRequest, index: number) => ScriptedLiveScript;

/** One thing that a live connection was sent: what a client said, or the history at the start. */
export type LiveSent = LiveRequest | { readonly history: readonly Content[]; readonly isWaiting?: true };

/** The kinds of what is sent, by the field that holds it. */
export type LiveSentKind = 'history' | 'content' | 'blob' | 'activityStart' | 'activityEnd' | 'toolResponses';

/** Tells what was sent: its kind, words in a text of it, or anything else. */
export type LiveSentMatcher = LiveSentKind | RegExp | ((sent: LiveSent) => boolean);

/** True when this is what is waited for. A pattern looks at the texts of contents and at the responses of tools, as JSON. */
export function matchesSent(sent: LiveSent, matcher: LiveSentMatcher): boolean {
  if (typeof matcher === 'string') return matcher in sent;
  return typeof matcher === 'function' ? matcher(sent) : matcher.test(textOf(sent));
}

function textOf(sent: LiveSent): string {
  if ('content' in sent) return contentText(sent.content);
  if ('history' in sent) return sent.history.map(contentText).join('\n');
  return 'toolResponses' in sent ? JSON.stringify(sent.toolResponses) : '';
}
