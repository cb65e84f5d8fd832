import { createEvent, isNodeTimeoutError, node, type NodeContext, NodeTimeoutError, Workflow } from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly code = 'HTTP_500';
}

const weather = node(
  function* (context: NodeContext) {
    yield createEvent({ content: { role: 'model', parts: [{ text: `Attempt ${context.attemptCount}` }] } });
    if (context.attemptCount < 3) throw new HttpError('Internal Server Error');
    yield 'sunny';
  },
  { name: 'weather', retryConfig: { maxAttempts: 5, initialDelay: 0, jitter: 0 } },
);
const report = node((_context: NodeContext, text: string) => `It is ${text}.`, { name: 'report' });

const fails = node(
  () => {
    throw new HttpError('Gone');
  },
  { name: 'fails', retryConfig: { maxAttempts: 2, initialDelay: 0, jitter: 0, exceptions: [HttpError] } },
);
const fussy = node(
  () => {
    throw new TypeError('bad');
  },
  { name: 'fussy', retryConfig: { maxAttempts: 5, exceptions: ['HttpError'] } },
);
const slow = node(() => new Promise(() => {}), { name: 'slow', timeout: 0.01 });
const says = node(() => createEvent({ errorCode: 'QUOTA', errorMessage: 'none left' }), { name: 'says' });

const program: Program = {
  replies: [],
  async main(tell) {
    await converse(tell, new Workflow({ name: 'retried', edges: [['START', weather, report]] }), ['Go.']);
    for (const each of [fails, fussy, slow, says]) {
      try {
        await converse(tell, new Workflow({ name: 'failing', edges: [['START', each]] }), ['Go.']);
      } catch (error) {
        const { name, message } = error as Error;
        tell(`failed: ${name} ${message} ${isNodeTimeoutError(error)}`);
      }
    }
    tell(new NodeTimeoutError({ nodeName: 'slow', timeout: 1 }).message);
  },
};
export default program;
