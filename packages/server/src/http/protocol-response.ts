import { ConfigurationError, toError } from '@eventloom/core';
import { describeKind, isRecord, within } from '@eventloom/core/internal';
import { causesOfCuts, cutError } from '../runs/run-reader.ts';
import type { FrontContext } from '../server-context.ts';
import { isRunStream } from './hosted-run.ts';
import type { ServerRequest } from './server-request.ts';
import type { RequestQuota } from './user-quotas.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Checks the response of a protocol's route. A route in JavaScript may return any value, and the router and the HTTP server would convert a
 * value that is not a response to text. The class of a response is not compared, because that server replaces the global class.
 * @returns the response. The amounts that its request counts are kept until its body has ended. If the body fails, it
 * reports the failure and ends with a neutral error, because the HTTP server of Node prints a stream's error with its
 * stack and writes the message to the client
 * @throws ConfigurationError for another value, for `Response.error()`, for a body that was read, and for a body of another length than the
 * response announces, because a client waits for missing bytes and reads excess bytes as the next response
 * @throws Error the error of a body that fails within `limits.respondAfterMs`, before its first bytes; for a stream of
 * a run, that of a writer that throws at an item that the run has already
 */
export async function checkProtocolResponse(
  path: string,
  response: Response,
  { raw: { method }, server, quota }: Pick<ServerRequest<FrontContext>, 'raw' | 'server' | 'quota'>,
): Promise<Response> {
  const { platform, limits, report } = server;
  const { status, headers } = Object(response) as Partial<Response>;
  if (typeof status !== 'number' || status === 0 || !isRecord(headers))
    throw new ConfigurationError(
      `${path}: handle: expected a Response, got ${status === 0 ? 'that of an error' : describeKind(response)}; write return Response.json({ … })`,
    );
  if (response.bodyUsed || response.body?.locked === true)
    throw new ConfigurationError(
      `${path}: handle: the body of its Response was read already; write return new Response(text)`,
    );
  const announced = method !== 'HEAD' && status !== 304 ? response.headers.get('content-length') : null;
  const isRun = isRunStream(response);
  const body = new CheckedBody({ path, announced, reader: response.body?.getReader(), isRun, report, quota });
  const begun = body.readAhead();
  // Of a run, the items that it has already are read. Its connection reports its failures itself, and ends with a neutral error.
  const beginning = isRun ? begun.catch((cut: Error) => Promise.reject(toError(causesOfCuts.get(cut) ?? cut))) : begun;
  await within(platform, beginning, isRun ? 0 : limits.respondAfterMs);
  if (!response.body) return response;
  quota.holds++;
  return new Response(new ReadableStream(body, { highWaterMark: 0 }), response);
}

interface CheckedBodyParams extends Pick<FrontContext, 'report'> {
  readonly path: string;
  /** The announced length; null for a body of any length. */
  readonly announced: string | null;
  /** Undefined for a response without a body. */
  readonly reader: ReadableStreamDefaultReader<Bytes> | undefined;
  readonly isRun: boolean;
  /** Released when the body has ended. */
  readonly quota: RequestQuota;
}

/** The body of a protocol's response: passes its bytes on as long as their number is the announced one. */
class CheckedBody implements UnderlyingDefaultSource<Bytes> {
  readonly #params: CheckedBodyParams;
  #received = 0;
  #ahead: ReadableStreamReadResult<Bytes>[] = [];
  #begun: Promise<void> | undefined;
  #hasLeft = false;
  #isSent = false;

  constructor(params: CheckedBodyParams) {
    this.#params = params;
  }

  /** Reads the first bytes, and if the length is announced also what follows: the text of a short body and its end are two reads. */
  readAhead(): Promise<void> {
    return (this.#begun ??= this.#readAhead());
  }

  async #readAhead(): Promise<void> {
    const first = await this.#read();
    this.#ahead.push(first);
    if (this.#params.announced !== null && !first.done) this.#ahead.push(await this.#read());
  }

  /** @throws ConfigurationError for a body of another length than the announced one */
  async #read(): Promise<ReadableStreamReadResult<Bytes>> {
    const { path, announced, reader, report } = this.#params;
    const next = (await reader?.read()) ?? END;
    this.#received += next.value?.length ?? 0;
    const isRight = next.done ? this.#received === Number(announced) : this.#received <= Number(announced);
    if (announced === null || isRight) return next;
    const wrong = new ConfigurationError(
      `${path}: handle: its Response has the header content-length: ${JSON.stringify(announced.slice(0, 20))}, and ${this.#received} bytes${next.done ? '' : ' or more'}; leave the header out`,
    );
    reader?.cancel(wrong).catch(report);
    throw wrong;
  }

  async pull(controller: ReadableStreamDefaultController<Bytes>): Promise<void> {
    try {
      await this.readAhead();
      const { done, value } = this.#ahead.shift() ?? (await this.#read());
      if (this.#hasLeft) return;
      if (!done) return controller.enqueue(value);
      this.#release();
      controller.close();
    } catch (thrown) {
      const { isRun, report } = this.#params;
      this.#release();
      if (!isRun) report(toError(thrown));
      controller.error(isRun ? thrown : cutError('the server failed to answer; its log says why'));
    }
  }

  /** Called when the client leaves. */
  cancel(reason: unknown): Promise<void> | undefined {
    this.#hasLeft = true;
    this.#release();
    return this.#params.reader?.cancel(reason);
  }

  #release(): void {
    if (!this.#isSent) this.#params.quota.release();
    this.#isSent = true;
  }
}

const END: ReadableStreamReadResult<Bytes> = { done: true, value: undefined };
