import { tryParseJson } from '@eventloom/core/internal';
import { Gate } from '../../gate.ts';
import type {
  FakeLiveConnectionScript,
  FakeLiveClose,
  FakeLiveCue,
  FakeLiveCut,
  FakeLiveStep,
  LiveWireMatcher,
  LiveWireMessage,
} from './fake-live-script.ts';
import type { LivePath } from './parse-live-path.ts';

/** The end of a live connection: its close code and reason, as the server received them. */
export interface LiveClosing {
  readonly code: number;
  readonly reason: string;
}

interface Printable {
  toString(): string;
}

/** The part of a `ws` WebSocket that is used. The types of `ws` are not installed with this package. */
interface ServerSocket {
  readonly readyState: number;
  readonly OPEN: number;
  on(event: 'message', listener: (data: Printable) => void): unknown;
  on(event: 'close', listener: (code: number, reason: Printable) => void): unknown;
  on(event: 'error', listener: () => void): unknown;
  send(text: string, options: { readonly binary: boolean }): void;
  close(code: number, reason?: string): void;
  terminate(): void;
}

/** One live connection of the fake server. It plays its script and records the messages of the client. */
export class FakeLiveConnection {
  /** The address that the client connected to, and its key. */
  readonly path: LivePath;
  /** Headers of the request, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #socket: ServerSocket;
  readonly #script: FakeLiveConnectionScript;
  readonly #received: LiveWireMessage[] = [];
  readonly #closed = Promise.withResolvers<LiveClosing>();
  #arrival = Promise.withResolvers<void>();
  #heard = 0;
  #played = 0;

  constructor(
    socket: ServerSocket,
    path: LivePath,
    headers: Readonly<Record<string, string>>,
    script: FakeLiveConnectionScript,
  ) {
    this.#socket = socket;
    this.path = path;
    this.headers = headers;
    this.#script = script;
    socket.on('message', (data) => this.#receive(data));
    socket.on('close', (code, reason) => this.#closed.resolve({ code, reason: reason.toString() }));
    socket.on('error', () => undefined);
  }

  /** The messages of the client after the setup, in order. */
  get received(): readonly LiveWireMessage[] {
    return this.#received.slice(1);
  }

  /** The setup message of the client; undefined before it has arrived. */
  get setup(): LiveWireMessage | undefined {
    return this.#received[0]?.['setup'] as LiveWireMessage | undefined;
  }

  /** Resolves once either side has ended the connection. */
  get closed(): Promise<LiveClosing> {
    return this.#closed.promise;
  }

  /** Number of steps of the script that were not played. */
  get stepsLeft(): number {
    return (this.#script.steps?.length ?? 0) - this.#played;
  }

  /** Waits for a message of the client that matches, and returns the first one. */
  async heard(matcher: LiveWireMatcher): Promise<LiveWireMessage> {
    for (let index = 0; ; index++) {
      const message = await this.#message(index);
      if (matchesWire(message, matcher)) return message;
    }
  }

  /** Sends a message that is not in the script. */
  send(message: LiveWireMessage | string): void {
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    this.#socket.send(text, { binary: this.#script.frames !== 'text' });
  }

  /** Ends the socket without a close frame. */
  cut(): void {
    this.#socket.terminate();
  }

  /** Plays the script until it or the connection ends. */
  async play(): Promise<void> {
    const { setup = { setupComplete: {} }, steps = [] } = this.#script;
    const first = await this.#unlessClosed(this.#message(0));
    if (first === undefined) return;
    if (!('setup' in first)) return this.#socket.close(1007, 'The first message must be a setup.');
    this.#heard = 1;
    if (setup === null || !(await this.#step(setup))) return;
    if (setup instanceof Gate) this.send({ setupComplete: {} });
    for (const step of steps) {
      if (!(await this.#step(step))) return;
      this.#played++;
    }
  }

  /** Plays a step. Returns false if the connection ended before the step. */
  async #step(step: FakeLiveStep): Promise<boolean> {
    if (this.#socket.readyState !== this.#socket.OPEN) return false;
    if (typeof step === 'function') for (const message of await step(this.received)) this.send(message);
    else if (typeof step === 'string') this.send(step);
    else if (step instanceof Gate) return (await this.#unlessClosed(step.pass().then(() => true))) ?? false;
    else if (isCue(step)) return (await this.#unlessClosed(this.#hear(step.heard))) ?? false;
    else if (isClose(step)) this.#socket.close(step.close, step.reason);
    else if (isCut(step)) this.cut();
    else this.send(step);
    return true;
  }

  async #hear(matcher: LiveWireMatcher): Promise<boolean> {
    for (;;) if (matchesWire(await this.#message(this.#heard++), matcher)) return true;
  }

  async #message(index: number): Promise<LiveWireMessage> {
    for (;;) {
      const message = this.#received[index];
      if (message) return message;
      await this.#arrival.promise;
    }
  }

  #unlessClosed<T>(waiting: Promise<T>): Promise<T | undefined> {
    return Promise.race([waiting, this.#closed.promise.then(() => undefined)]);
  }

  #receive(data: Printable): void {
    const message = parseMessage(data);
    // The real service refuses a second setup too.
    if (!message || (this.#received.length > 0 && 'setup' in message)) {
      this.#socket.close(1007, 'Request contains an invalid argument.');
      return;
    }
    this.#received.push(message);
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }
}

function parseMessage(data: Printable): LiveWireMessage | undefined {
  const message = tryParseJson(data.toString());
  return typeof message === 'object' && message !== null ? (message as LiveWireMessage) : undefined;
}

function matchesWire(message: LiveWireMessage, matcher: LiveWireMatcher): boolean {
  if (typeof matcher === 'string') return matcher in message;
  return typeof matcher === 'function' ? matcher(message) : matcher.test(JSON.stringify(message));
}

function isCue(step: object): step is FakeLiveCue {
  return 'heard' in step;
}

function isClose(step: object): step is FakeLiveClose {
  return 'close' in step;
}

function isCut(step: object): step is FakeLiveCut {
  return 'cut' in step;
}
