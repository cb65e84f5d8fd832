// Starts servers.
import { ModelError, RunAbortedError } from '@eventloom/core';
import { fixedPlatform } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { FakeService } from './fixtures/fake-service.ts';
import { requestOf, responsesOf } from './fixtures/mock-model.ts';
import { WIRES } from './fixtures/wires.ts';

const ONCE = { retry: { attempts: 1 } };

describe.each(WIRES)('$name', (wire) => {
  const stream = wire.stream({ text: ['Hel', 'lo'] });
  const first = stream.slice(0, stream.indexOf('Hel') + 60);

  test.each([false, true])(
    'an abort closes the socket before the service responds (streamed: %s)',
    async (streamed) => {
      await using service = await FakeService.start([{ end: 'hang' }]);
      const controller = new AbortController();
      const model = wire.model({ url: service.url });
      const asked = model.generateContentAsync(requestOf('Hi'), streamed, controller.signal).next();
      const { closedByClient } = await service.request(0);
      controller.abort(new TypeError('enough'));
      await expect(asked).rejects.toMatchObject({ code: 'RUN_ABORTED', cause: { message: 'enough' } });
      expect(await closedByClient).toBe(true);
    },
  );

  test('an abort in the middle of a stream closes the socket', async () => {
    await using service = await FakeService.start([{ body: `${first}`, end: 'hang' }]);
    const controller = new AbortController();
    const model = wire.model({ url: service.url });
    const chunks = model.generateContentAsync(requestOf('Hi'), true, controller.signal);
    const waiting = chunks.next();
    const { closedByClient } = await service.request(0);
    controller.abort();
    await expect(waiting.then(() => chunks.next())).rejects.toBeInstanceOf(RunAbortedError);
    expect(await closedByClient).toBe(true);
  });

  test('a consumer that stops reading closes the socket', async () => {
    const beginning = stream.slice(0, stream.indexOf('\n\n', stream.indexOf('Hel')) + 2);
    await using service = await FakeService.start([{ body: beginning, end: 'hang' }]);
    for await (const chunk of wire.model({ url: service.url }).generateContentAsync(requestOf('Hi'), true)) {
      expect(chunk.content?.parts).toEqual([{ text: 'Hel' }]);
      break;
    }
    expect(await (await service.request(0)).closedByClient).toBe(true);
  });

  test('a call is made again after the delay that the service asks for', async () => {
    await using service = await FakeService.start([
      { status: 429, headers: { 'retry-after': '7' }, body: wire.error('rate_limit_exceeded', 'Slow down.') },
      { body: stream },
    ]);
    const platform = fixedPlatform();
    const options = { platform, retry: { jitter: 0 } };
    const asked = responsesOf(wire.model({ url: service.url }, options), requestOf('Hi'), true);
    await platform.nextTimer();
    platform.advance(6999);
    expect(service.requests).toHaveLength(1);
    platform.advance(1);
    expect((await asked).at(-1)?.content?.parts?.[0]).toMatchObject({ text: 'Hello' });
    expect(service.requests).toHaveLength(2);
  });

  test.each([
    [429, 'rate_limit_exceeded', 'RESOURCE_EXHAUSTED', true],
    [429, 'insufficient_quota', 'RESOURCE_EXHAUSTED', false],
    [500, 'api_error', 'INTERNAL', true],
    [503, 'overloaded', 'UNAVAILABLE', true],
    [529, 'overloaded_error', 'UNAVAILABLE', true],
    [400, 'context_length_exceeded', 'INVALID_ARGUMENT', false],
    [401, 'invalid_api_key', 'UNAUTHENTICATED', false],
    [404, 'model_not_found', 'NOT_FOUND', false],
  ])('the status %i with the code %s is %s', async (status, code, errorCode, retryable) => {
    await using service = await FakeService.start([{ status, body: wire.error(code, 'So it is.') }]);
    const error: unknown = await responsesOf(wire.model({ url: service.url }, ONCE)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({
      errorCode,
      status,
      retryable,
      message: expect.stringContaining(`So it is (${code})`),
    });
  });

  test('a key in the message of the service is removed', async () => {
    const body = wire.error('invalid_api_key', 'Incorrect API key: sk-0123456789abcdef.');
    await using service = await FakeService.start([{ status: 401, body }]);
    const error: unknown = await responsesOf(wire.model({ url: service.url }, ONCE)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining('[redacted]') });
    expect(error).not.toHaveProperty('cause');
  });

  test('a secret header of the model or of the call is removed from the message of the service', async () => {
    const body = wire.error('forbidden', 'No access for opensesame and shibboleth.');
    await using service = await FakeService.start([{ status: 403, body }]);
    const model = wire.model({ url: service.url }, { ...ONCE, headers: { 'x-proxy-token': 'opensesame' } });
    const request = requestOf('Hi', { httpOptions: { headers: { 'x-auth': 'shibboleth' } } });
    const error: unknown = await responsesOf(model, request).catch((thrown: unknown) => thrown);
    expect(service.requests[0]?.headers).toMatchObject({ 'x-proxy-token': 'opensesame', 'x-auth': 'shibboleth' });
    expect(error).toMatchObject({ message: expect.stringContaining('No access for [redacted] and [redacted]') });
    expect(error).not.toHaveProperty('cause');
  });

  test('a key that is only in the body of the answer is not in the cause', async () => {
    const body = { ...wire.error('forbidden', 'No access.'), detail: 'sk-0123456789abcdef' };
    await using service = await FakeService.start([{ status: 403, body }]);
    const error: unknown = await responsesOf(wire.model({ url: service.url }, ONCE)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ errorCode: 'PERMISSION_DENIED' });
    expect(error).not.toHaveProperty('cause');
  });

  test('a failure that a stream reports is an error with its code', async () => {
    await using service = await FakeService.start([{ body: wire.errorEvent('The server is overloaded.') }]);
    const asked = responsesOf(wire.model({ url: service.url }, ONCE), requestOf('Hi'), true);
    await expect(asked).rejects.toMatchObject({
      code: 'MODEL',
      retryable: true,
      message: expect.stringContaining('overloaded'),
    });
  });

  test.each([
    ['text that is not JSON', 'data: {"id": nonsense}\n\n'],
    ['JSON of another kind', 'data: [1, 2]\n\n'],
    [
      'text that is not JSON after its beginning',
      `${first.slice(0, first.lastIndexOf('\n\n') + 2)}data: {"id": nonsense}\n\n`,
    ],
  ])('a stream with %s is an error that is not retried', async (_, body) => {
    await using service = await FakeService.start([{ body }]);
    const asked = responsesOf(wire.model({ url: service.url }, ONCE), requestOf('Hi'), true);
    await expect(asked).rejects.toMatchObject({ errorCode: 'DATA_LOSS', retryable: false });
  });

  test.each([
    [true, ''],
    [true, '<html>The gateway has no answer.</html>'],
    [false, ''],
  ])(
    'an empty reply is requested again, and a second one is an error (streamed: %s, body: %j)',
    async (streamed, body) => {
      const empty = { body, headers: { 'content-type': streamed ? 'text/event-stream' : 'application/json' } };
      await using service = await FakeService.start([empty, empty]);
      const model = wire.model({ url: service.url }, { retry: { attempts: 2, initialDelayMs: 0 } });
      await expect(responsesOf(model, requestOf('Hi'), streamed)).rejects.toMatchObject({
        errorCode: 'UNAVAILABLE',
        retryable: true,
      });
      expect(service.requests).toHaveLength(2);
    },
  );

  test.each([
    ['text/html; charset=utf-8', '<html>Welcome!</html>'],
    ['application/json', '{"error":{"message":"boom"}}'],
  ])('an answer of the type %s to a streamed call is an error that names it and the baseURL', async (type, body) => {
    await using service = await FakeService.start([{ body, headers: { 'content-type': type } }]);
    const asked = responsesOf(wire.model({ url: service.url }), requestOf('Hi'), true);
    const [name] = type.split(';');
    await expect(asked).rejects.toMatchObject({
      errorCode: 'DATA_LOSS',
      retryable: false,
      message: expect.stringContaining(
        `: the service answered with ${name} instead of a stream; check the baseURL of the provider`,
      ),
    });
  });

  test('an answer that is not JSON to a call without streaming is an error that names the type and the baseURL', async () => {
    const answer = { body: '<html>Welcome!</html>', headers: { 'content-type': 'text/html; charset=utf-8' } };
    await using service = await FakeService.start([answer]);
    await expect(responsesOf(wire.model({ url: service.url }), requestOf('Hi'))).rejects.toMatchObject({
      errorCode: 'DATA_LOSS',
      retryable: false,
      message: expect.stringContaining(
        ': the service answered with text/html instead of JSON; check the baseURL of the provider',
      ),
    });
  });

  test.each([
    ['{"error":"So it is."}', 'So it is;'],
    ['{"detail":"So it is."}', 'So it is;'],
    ['{"object":"error","message":"So it is.","type":"NotFoundError","code":404}', 'So it is (NotFoundError);'],
    ['404 page not found\n', '404 page not found;'],
    ['<html>So it is.</html>', 'Not Found;'],
    [`{"error":"${'x'.repeat(70_000)}"}`, 'Not Found;'],
  ])('an error in another format has the message of the server: %.60s', async (body, said) => {
    await using service = await FakeService.start([{ status: 404, body }]);
    await expect(responsesOf(wire.model({ url: service.url }, ONCE))).rejects.toThrow(
      `": ${said} check the name of the model`,
    );
  });

  test.each(['<html>Welcome!</html>', ''])(
    'a stream without an event is an error that names the baseURL: %j',
    async (body) => {
      await using service = await FakeService.start([{ body }]);
      const asked = responsesOf(wire.model({ url: service.url }, ONCE), requestOf('Hi'), true);
      await expect(asked).rejects.toMatchObject({
        errorCode: 'UNAVAILABLE',
        message: expect.stringContaining(
          ': the service sent no reply, or no stream of the expected kind; if that happens always, check the baseURL of the provider',
        ),
      });
    },
  );

  test('a streamed call with an empty answer of the type application/json is repeated', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': '0' };
    await using service = await FakeService.start([{ body: '', headers }, { body: stream }]);
    const model = wire.model({ url: service.url }, { retry: { attempts: 2, initialDelayMs: 0 } });
    expect(await responsesOf(model, requestOf('Hi'), true)).not.toHaveLength(0);
  });

  test('a stream of the type application/json is read, and its end after the first chunk is a lost connection', async () => {
    const headers = { 'content-type': 'application/json' };
    const beginning = stream.slice(0, stream.indexOf('\n\n', stream.indexOf('Hel')) + 2);
    await using service = await FakeService.start([
      { body: stream, headers },
      { body: beginning, headers, end: 'cut' },
    ]);
    const model = wire.model({ url: service.url }, ONCE);
    expect((await responsesOf(model, requestOf('Hi'), true)).at(-1)).toMatchObject({ finishReason: 'STOP' });
    await expect(responsesOf(model, requestOf('Hi'), true)).rejects.toMatchObject({ errorCode: 'UNAVAILABLE' });
  });

  test('an unknown model, or path, is an error that names the baseURL', async () => {
    await using service = await FakeService.start([{ status: 404, body: wire.error('not_found', 'Not found.') }]);
    await expect(responsesOf(wire.model({ url: service.url }, ONCE))).rejects.toThrow(
      'check the name of the model and the baseURL of the provider',
    );
  });

  test('the message for an answer of another type omits the list of its faults, which is in the cause', async () => {
    await using service = await FakeService.start([{ body: { answer: 42 } }]);
    const error: unknown = await responsesOf(wire.model({ url: service.url }, ONCE)).catch((thrown: unknown) => thrown);
    const { message } = error instanceof Error ? error : expect.unreachable();
    expect(message.split('\n')).toHaveLength(1);
  });

  test('a service that cannot be reached, and one that closes the connection, are unavailable', async () => {
    const service = await FakeService.start([{ end: 'cut' }]);
    const model = wire.model({ url: service.url }, ONCE);
    await expect(responsesOf(model)).rejects.toMatchObject({ errorCode: 'UNAVAILABLE', retryable: true });
    await service[Symbol.asyncDispose]();
    await expect(responsesOf(model)).rejects.toMatchObject({ errorCode: 'UNAVAILABLE', retryable: true });
  });
});
