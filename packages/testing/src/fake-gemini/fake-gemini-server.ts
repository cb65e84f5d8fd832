import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { checkScript } from '../check-script.ts';
import { UnconsumedStepsError, UnexpectedRequestError } from '../errors.ts';
import { checkStep, errorReply, type FakeGeminiReply, type FakeGeminiStep } from './fake-gemini-reply.ts';
import type { FakeGeminiRequest, FakeGeminiRequestBody } from './fake-gemini-request.ts';
import { FakeGeminiLive } from './live/fake-gemini-live.ts';
import { parseGeminiPath } from './parse-gemini-path.ts';
import { writeReply } from './write-reply.ts';

/**
 * An HTTP server on 127.0.0.1 that answers like the Gemini API and Vertex AI, from a script with one step for each request:
 * `generateContent`, `streamGenerateContent`, and the creation and deletion of cached contents. Live connections have scripts of their own:
 * see `live`. Node only.
 *
 * A request without a step in the script is answered with 400, which clients do not retry, and `assertConsumed` throws.
 *
 * @example
 * await using server = await FakeGeminiServer.start([jsonReply(wireResponse('Hello'))]);
 * const model = new Gemini({ model: 'gemini-2.5-flash', apiKey: 'test', baseUrl: server.url });
 */
export class FakeGeminiServer {
  /** The live connections of the server. */
  readonly live = new FakeGeminiLive();
  readonly #http: Server;
  readonly #steps: FakeGeminiStep[];
  readonly #requests: FakeGeminiRequest[] = [];
  readonly #open = new Set<ServerResponse>();
  /** Replies that this server interrupted. Other interrupted replies were closed by their clients. */
  readonly #cut = new WeakSet<ServerResponse>();
  readonly #connections = new Map<Socket, number>();
  #url = '';
  #arrival = Promise.withResolvers<void>();
  #answered = 0;
  #fault: UnexpectedRequestError | undefined;

  private constructor(steps: readonly FakeGeminiStep[]) {
    checkScript('FakeGeminiServer', steps, 'replies', "FakeGeminiServer.start([jsonReply(wireResponse('Hello!'))])");
    for (const [index, step] of steps.entries()) checkStep(`FakeGeminiServer: steps[${index}]`, step);
    this.#steps = [...steps];
    this.#http = createServer((incoming, outgoing) => void this.#serve(incoming, outgoing));
    this.#http.on('upgrade', (incoming, socket, head) => this.live.upgrade(incoming, socket, head));
  }

  /** Starts a server on a free port. @throws ConfigurationError for a value that is not a reply, and for an unknown field */
  static async start(steps: readonly FakeGeminiStep[] = []): Promise<FakeGeminiServer> {
    const server = new FakeGeminiServer(steps);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.#http.once('error', reject).listen(0, '127.0.0.1', resolve);
    await promise;
    server.#url = `http://127.0.0.1:${(server.#http.address() as AddressInfo).port}`;
    return server;
  }

  /** `http://127.0.0.1:port`, without a slash at the end. */
  get url(): string {
    return this.#url;
  }

  /** The requests so far, in the order of their arrival. */
  get requests(): readonly FakeGeminiRequest[] {
    return this.#requests;
  }

  /** Adds steps to the end of the script. @throws ConfigurationError for the same steps as `start` */
  enqueue(...steps: readonly FakeGeminiStep[]): void {
    for (const [index, step] of steps.entries()) checkStep(`FakeGeminiServer.enqueue: steps[${index}]`, step);
    this.#steps.push(...steps);
  }

  /** Waits for the request with this index, from 0. */
  async request(index: number): Promise<FakeGeminiRequest> {
    for (;;) {
      const request = this.#requests[index];
      if (request) return request;
      await this.#arrival.promise;
    }
  }

  /**
   * Checks that the script and the scripts of live connections were played to their ends.
   * @throws UnexpectedRequestError for a request without a step, UnconsumedStepsError if steps are left
   */
  assertConsumed(): void {
    if (this.#fault) throw this.#fault;
    const left = this.#steps.length - this.#answered;
    if (left > 0) {
      throw new UnconsumedStepsError(
        `fake Gemini server: ${left} of ${this.#steps.length} replies were not requested, beginning with reply ${this.#answered + 1}`,
      );
    }
    this.live.assertConsumed();
  }

  /** Stops the server and closes its connections. Does not check the script: see `assertConsumed`. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#http.close(() => resolve());
    for (const outgoing of this.#open) this.#cut.add(outgoing);
    this.#http.closeAllConnections();
    this.live.close();
    await promise;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const ended = Promise.withResolvers<void>();
    this.#open.add(outgoing);
    outgoing.once('close', () => {
      this.#open.delete(outgoing);
      ended.resolve();
    });
    const cut = this.#cut;
    const text = await readText(incoming);
    if (text === undefined) return;
    const path = parseGeminiPath(incoming.url ?? '');
    const isDelete = incoming.method === 'DELETE' && path?.cachedContent !== undefined && path.cachedContent !== '';
    const body = isDelete && text === '' ? {} : parseBody(text);
    if (!path || !body || (incoming.method !== 'POST' && !isDelete) || (path.cachedContent && !isDelete)) {
      return this.#refuse(outgoing, `${incoming.method} ${incoming.url} is not a request of the Gemini API`);
    }
    const request: FakeGeminiRequest = {
      ...path,
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers as Record<string, string>,
      connection: this.#connectionOf(incoming.socket),
      body,
      ended: ended.promise,
      get closedByClient() {
        return outgoing.destroyed && !outgoing.writableFinished && !cut.has(outgoing);
      },
    };
    const step = this.#steps[this.#requests.push(request) - 1];
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
    if (!step) {
      return this.#refuse(outgoing, `request ${this.#requests.length} (${request.path}) was not expected`);
    }
    this.#answered++;
    let reply: FakeGeminiReply;
    try {
      reply = typeof step === 'function' ? step(request) : step;
      if (reply !== step) checkStep('result of the function', reply);
    } catch (error) {
      return this.#refuse(
        outgoing,
        `reply ${this.#answered} threw: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    if (reply.frames && !path.stream) {
      return this.#refuse(outgoing, `reply ${this.#answered} is streamed, but ${request.path} expects one that is not`);
    }
    await this.#write(outgoing, reply);
  }

  #connectionOf(socket: Socket): number {
    const known = this.#connections.get(socket) ?? this.#connections.size;
    this.#connections.set(socket, known);
    return known;
  }

  async #write(outgoing: ServerResponse, reply: FakeGeminiReply): Promise<void> {
    const closed = new AbortController();
    outgoing.once('close', () => closed.abort());
    if (await writeReply(outgoing, reply, closed.signal)) {
      this.#cut.add(outgoing);
      outgoing.destroy();
    }
  }

  #refuse(outgoing: ServerResponse, message: string): Promise<void> {
    this.#fault ??= new UnexpectedRequestError(
      `fake Gemini server: ${message}; its script has ${this.#steps.length} replies`,
    );
    return this.#write(
      outgoing,
      errorReply({ code: 400, status: 'FAILED_PRECONDITION', message: this.#fault.message }),
    );
  }
}

/** Returns the whole body; undefined if the client disconnected before its end. */
async function readText(incoming: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of incoming) pieces.push(piece as Buffer);
  } catch {
    return undefined;
  }
  return Buffer.concat(pieces).toString('utf8');
}

function parseBody(text: string): FakeGeminiRequestBody | undefined {
  try {
    return JSON.parse(text) as FakeGeminiRequestBody;
  } catch {
    return undefined;
  }
}
