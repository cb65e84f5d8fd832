import { ConfigurationError } from '@eventloom/core';
import { checkOptions, describeKind, isRecord, type OptionRules } from '@eventloom/core/internal';
import type { Gate } from '../../gate.ts';

/** A message of either side, as JSON on the wire. */
export type LiveWireMessage = Readonly<Record<string, unknown>>;

/**
 * Matches a message of the client: by a field that it has (`clientContent`, `realtimeInput`, `toolResponse`), by a pattern in its JSON,
 * or by a function.
 */
export type LiveWireMatcher = string | RegExp | ((message: LiveWireMessage) => boolean);

/**
 * One step of a live connection: a message, a text that is sent unchanged, a gate that delays the following steps, a wait for a message
 * of the client, the end of the connection, or a function that computes messages from those received so far.
 */
export type FakeLiveStep =
  | LiveWireMessage
  | string
  | Gate
  | FakeLiveCue
  | FakeLiveClose
  | FakeLiveCut
  | ((received: readonly LiveWireMessage[]) => readonly LiveWireMessage[] | Promise<readonly LiveWireMessage[]>);

/** Waits until the client has sent a matching message after the messages that earlier cues matched. */
export interface FakeLiveCue {
  readonly heard: LiveWireMatcher;
}

/** Closes the connection, with this code and reason. */
export interface FakeLiveClose {
  readonly close: number;
  readonly reason?: string;
}

/** Ends the socket without a close frame, like a failed network. The client sees the code 1006. */
export interface FakeLiveCut {
  readonly cut: true;
}

/** The script of one live connection: a list of steps, or a script with all options. */
export type FakeLiveScript = readonly FakeLiveStep[] | FakeLiveConnectionScript;

/** The script of one live connection with all options. After the last step the connection stays open and silent. */
export interface FakeLiveConnectionScript {
  readonly steps?: readonly FakeLiveStep[];
  /** The response to the setup. Default `{ setupComplete: {} }`; a gate delays it; null sends none. */
  readonly setup?: LiveWireMessage | string | FakeLiveClose | FakeLiveCut | Gate | null;
  /** Kind of all frames. Default `binary`, as the service sends them. */
  readonly frames?: 'binary' | 'text';
  /** HTTP status with which the connection is refused. Default: it is accepted. */
  readonly status?: number;
}

const CONNECTION: OptionRules<FakeLiveConnectionScript> = {
  steps: 'list',
  // A message of any form, or null.
  setup: 'any',
  frames: { is: 'text', oneOf: ['binary', 'text'] },
  status: 'number',
};

/** Checks the script of a live connection; its messages may be any JSON. @throws ConfigurationError */
export function checkLiveScript(place: string, script: unknown): void {
  if (Array.isArray(script)) return;
  if (!isRecord(script))
    throw new ConfigurationError(
      `${place}: expected a list of steps or an object with steps, got ${describeKind(script)}; write [{ serverContent: { turnComplete: true } }]`,
    );
  checkOptions(place, CONNECTION, script, { serverContent: 'write the messages in a list: [{ serverContent: … }]' });
}
