import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemPlatform } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { decodeRequest } from './fixtures/otlp-requests.ts';
import { OtlpExporter } from './index.ts';

test('the requests of an exporter are valid OTLP on the wire, and the key is not sent to another address', async () => {
  const requests: string[] = [];
  const bodies: Uint8Array[] = [];
  const keys: (string | undefined)[] = [];
  const collector = createServer((request, response) => {
    keys.push(request.headers['x-key']?.toString());
    const chunks: Uint8Array[] = [];
    request.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    request.on('end', () => {
      requests.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
      bodies.push(Buffer.concat(chunks));
      // First a redirect, then a collector that accepts everything.
      if (requests.length === 1) response.writeHead(307, { location: '/elsewhere' }).end();
      else response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  try {
    const { port } = collector.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/v1/traces`;
    const exporter = new OtlpExporter({ url, headers: { 'x-key': 'secret' } });
    const runner = new Runner({
      appName: 'app',
      agent: new LlmAgent({ name: 'bot', model: new ScriptedModel(['one', 'two']) }),
      sessionService: new InMemorySessionService(),
      platform: { ...systemPlatform, background: (work) => void work.catch(() => undefined) },
      autoCreateSession: true,
      instrumentation: exporter,
    });
    const run = async () => runner.run({ userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
    await run();
    await exporter.flush();
    expect(exporter.spans).toEqual({ exported: 0, dropped: 0, failed: 3, queued: 0 });
    await run();
    await exporter.close();
    expect(exporter.spans).toEqual({ exported: 3, dropped: 0, failed: 3, queued: 0 });
    expect(requests).toEqual(Array.from({ length: 2 }, () => 'POST /v1/traces application/x-protobuf'));
    expect(keys).toEqual(['secret', 'secret']);
    expect(bodies.map(decodeRequest)).toEqual([
      expect.objectContaining({ resourceSpans: [expect.anything()] }),
      expect.objectContaining({ resourceSpans: [expect.anything()] }),
    ]);
  } finally {
    collector.close();
  }
});
