import type { Gate } from '../../gate.ts';

/** A message of either side: JSON as it is on the wire. */
export type LiveWireMessage = Readonly<Record<string, unknown>>;

/** Tells a message of the client: the field that it has (`clientContent`, `realtimeInput`, `toolResponse`), words in its JSON, or anything else. */
export type LiveWireMatcher = string | RegExp | ((message: LiveWireMessage) => boolean);

/**
 * One step of a connection: a message, a text that is sent as it is, a gate that holds what follows, a wait for a message of the
 * client, the end of the connection, or a function that makes messages of those that came.
 */
export type FakeLiveStep =
  | LiveWireMessage
  | string
  | Gate
  | FakeLiveCue
  | FakeLiveClose
  | FakeLiveCut
  | ((received: readonly LiveWireMessage[]) => readonly LiveWireMessage[] | Promise<readonly LiveWireMessage[]>);

/** Holds what follows until the client has sent this, after what earlier cues of the script waited for. */
export interface FakeLiveCue {
  readonly heard: LiveWireMatcher;
}

/** The server closes the connection. */
export interface FakeLiveClose {
  readonly close: number;
  readonly reason?: string;
}

/** The network dies: the socket goes without a close, which the client sees as 1006. */
export interface FakeLiveCut {
  readonly cut: true;
}

/** The script of one live connection. A list is its steps. */
export type FakeLiveScript = readonly FakeLiveStep[] | FakeLiveAnswer;

/** The script of one live connection with all options. After the last step the connection stays open and silent. */
export interface FakeLiveAnswer {
  readonly steps?: readonly FakeLiveStep[];
  /** The response to the setup. Default `{ setupComplete: {} }`; a gate delays it; null sends none. */
  readonly setup?: LiveWireMessage | string | FakeLiveClose | FakeLiveCut | Gate | null;
  /** The kind of all its frames. Default `binary`, as of the real service. */
  readonly frames?: 'binary' | 'text';
  /** An HTTP status instead of a WebSocket. */
  readonly status?: number;
}
