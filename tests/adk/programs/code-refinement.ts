import {
  BaseAgent,
  createEvent,
  createEventActions,
  type Event,
  type InvocationContext,
  LlmAgent,
  LoopAgent,
} from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const refiner = new LlmAgent({ name: 'Refiner', model, instruction: 'Write code.', outputKey: 'current_code' });
const checker = new LlmAgent({
  name: 'Checker',
  model,
  instruction: 'Say pass or fail: {current_code}',
  outputKey: 'quality_status',
});

/** Ends the loop when the code is good; the events of other rounds have no content. */
class Stopper extends BaseAgent {
  override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const escalate = context.session.state['quality_status'] === 'pass';
    yield createEvent({ author: 'Stopper', actions: createEventActions({ escalate }) });
  }

  override async *runLiveImpl(): AsyncGenerator<Event, void, void> {
    yield createEvent({ author: 'Stopper' });
  }
}

const loop = new LoopAgent({
  name: 'Refinement',
  maxIterations: 5,
  subAgents: [refiner, checker, new Stopper({ name: 'Stopper' })],
});

const program: Program = {
  replies: ['let a = 1', 'fail', 'const a = 1;', 'pass'].map((text) => jsonReply(wireResponse(text))),
  main: (tell) => converse(tell, loop, ['A constant, please.']),
};
export default program;
