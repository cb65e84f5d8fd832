import { ConfigurationError, toError } from '@eventloom/core';
import { describeKind, isRecord, within } from '@eventloom/core/internal';
import { causesOfCuts, cutError } from '../runs/run-reader.ts';
import type { FrontContext } from '../server-context.ts';
import { isRunStream } from './hosted-run.ts';
import type { ServerRequest } from './server-request.ts';

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
  const announced = response.headers.get('content-length');
  const needsBody = method !== 'HEAD' && status !== 304;
  const wrongLength = (received: number, isWhole: boolean): ConfigurationError | undefined => {
    if (announced === null || !needsBody) return undefined;
    if (isWhole ? received === Number(announced) : received <= Number(announced)) return undefined;
    return new ConfigurationError(
      `${path}: handle: its Response has the header content-length: ${JSON.stringify(announced.slice(0, 20))}, and ${received} bytes${isWhole ? '' : ' or more'}; leave the header out`,
    );
  };
  if (!response.body) {
    const wrong = wrongLength(0, true);
    if (wrong) throw wrong;
    return response;
  }
  const reader = response.body.getReader();
  let received = 0;
  const read = async (): Promise<ReadableStreamReadResult<Bytes>> => {
    const next = await reader.read();
    received += next.value?.length ?? 0;
    const wrong = wrongLength(received, next.done);
    if (!wrong) return next;
    reader.cancel(wrong).catch(report);
    throw wrong;
  };
  const ahead: ReadableStreamReadResult<Bytes>[] = [];
  const readAhead = async (): Promise<void> => {
    const first = await read();
    ahead.push(first);
    // The text of a short body and its end are two reads.
    if (announced !== null && !first.done) ahead.push(await read());
  };
  const begun = readAhead();
  // Of a run, the items that it has already are read. Its connection reports its failures itself, and ends with a neutral error.
  const isRun = isRunStream(response);
  const beginning = isRun ? begun.catch((cut: Error) => Promise.reject(toError(causesOfCuts.get(cut) ?? cut))) : begun;
  await within(platform, beginning, isRun ? 0 : limits.respondAfterMs);
  let hasLeft = false;
  let isSent = false;
  const sent = (): void => {
    if (!isSent) quota.release();
    isSent = true;
  };
  quota.holds++;
  const body = new ReadableStream<Bytes>(
    {
      async pull(controller) {
        try {
          await begun;
          const { done, value } = ahead.shift() ?? (await read());
          if (hasLeft) return;
          if (!done) return controller.enqueue(value);
          sent();
          controller.close();
        } catch (thrown) {
          sent();
          if (!isRun) report(toError(thrown));
          controller.error(isRun ? thrown : cutError('the server failed to answer; its log says why'));
        }
      },
      cancel(reason) {
        hasLeft = true;
        sent();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}
