import { openTelemetry } from '@eventloom/otel';
import { ConsoleSpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { InMemoryRunner, LlmAgent } from 'eventloom';

const { GEMINI_API_KEY = '' } = process.env;
const exporter = new ConsoleSpanExporter();
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
const runner = new InMemoryRunner({
  agent: new LlmAgent({ name: 'helper', model: 'gemini-flash-latest' }),
  gemini: { apiKey: GEMINI_API_KEY },
  instrumentation: openTelemetry({ tracerProvider }),
  autoCreateSession: true,
});
const newMessage = 'What is the capital of Italy?';

for await (const event of runner.runAsync({ userId: 'ann', sessionId: 'first', newMessage })) console.log(event.author);
await tracerProvider.shutdown();
