import { type BaseTool, type Event, type Platform, type RunConfig, systemPlatform } from '@eventloom/core';
import { Gemini } from '@eventloom/gemini';
import { live, LiveRequestQueue } from '@eventloom/live';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { APP } from '../setup.ts';
import { notingClient } from './noting-client.ts';

/** Receives the frames of a call. */
export interface CallListener {
  /** Called when a frame is on the socket. */
  readonly onFrame?: (atMs: number) => void;
  /** Called when the caller has a piece of speech. */
  readonly onPiece: () => void;
  /** Called when the caller has an event; only in runs. */
  readonly onEvent?: (event: Event) => void;
  /** Called when another connection is open; only in runs. */
  readonly onConnected?: () => void;
}

/** A connected call. */
export interface ConnectedCall {
  /** The queue of the client's input; only in runs. */
  readonly queue?: LiveRequestQueue;
  /** Returns the stored events of the call; only in runs. */
  readonly stored?: () => Promise<readonly Event[]>;
  end(): Promise<void>;
}

/** Names of models, by which the fake Gemini distinguishes calls. */
export const BARE = 'bare';
export const OURS = 'ours';

/** Opens a call of the floor: the client of `@google/genai` alone, whose callback is the caller. */
export async function openBareCall(url: string, { onFrame, onPiece }: CallListener): Promise<ConnectedCall> {
  const closed = Promise.withResolvers<void>();
  const session = await notingClient(url, onFrame ?? ignore).live.connect({
    model: BARE,
    callbacks: {
      onmessage: ({ serverContent }) => {
        for (const { inlineData } of serverContent?.modelTurn?.parts ?? []) if (inlineData) onPiece();
      },
      onclose: () => closed.resolve(),
    },
  });
  return {
    end: () => {
      session.close();
      return closed.promise;
    },
  };
}

/** Options of a run that differ from the defaults. */
export interface RunCallOptions {
  readonly model?: string;
  readonly runConfig?: RunConfig;
  readonly tools?: readonly BaseTool[];
  readonly platform?: Platform;
}

let sessions = 0;

/** Opens a live run over the same client: agent, runner and an in-memory session. */
export async function openRunCall(
  url: string,
  { onFrame, onPiece, onEvent, onConnected }: CallListener,
  { model: name = OURS, runConfig, tools = [], platform = systemPlatform }: RunCallOptions = {},
): Promise<ConnectedCall> {
  const connected = Promise.withResolvers<void>();
  const model = new ConnectedModel({ model: name, client: notingClient(url, onFrame ?? ignore), platform }, () => {
    connected.resolve();
    onConnected?.();
  });
  const sessionService = new InMemorySessionService({ platform });
  const sessionId = `${++sessions}`;
  const runner = new Runner({
    appName: APP.appName,
    live: live(),
    agent: new LlmAgent({ name: 'agent', model, tools: [...tools] }),
    sessionService,
    platform,
    autoCreateSession: true,
  });
  const queue = new LiveRequestQueue();
  const run = runner.runLive({ userId: APP.userId, sessionId, liveRequestQueue: queue, runConfig });
  const read = async (): Promise<void> => {
    for await (const event of run) {
      onEvent?.(event);
      for (const { inlineData } of event.content?.parts ?? []) if (inlineData) onPiece();
    }
  };
  const reading = read();
  await Promise.race([connected.promise, reading]);
  return {
    queue,
    stored: async () => (await sessionService.getSession({ ...APP, sessionId }))?.events ?? [],
    end: () => {
      queue.close();
      return reading;
    },
  };
}

/** A Gemini model that reports when it is connected. */
export class ConnectedModel extends Gemini {
  readonly #onConnected: () => void;

  constructor(options: ConstructorParameters<typeof Gemini>[0], onConnected: () => void) {
    super(options);
    this.#onConnected = onConnected;
  }

  override async connect(...parameters: Parameters<Gemini['connect']>): ReturnType<Gemini['connect']> {
    const connection = await super.connect(...parameters);
    this.#onConnected();
    return connection;
  }
}

function ignore(): void {
  // The caller gave no callback.
}
