import {
  BaseAgent,
  createEvent,
  createEventActions,
  type Event,
  type InstructionProvider,
  type InvocationContext,
  LlmAgent,
  LoopAgent,
} from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

/** An agent that counts the rounds, and ends the loop after the second one. */
class Counter extends BaseAgent {
  constructor() {
    super({ name: 'counter' });
  }

  protected override async *runAsyncImpl({
    invocationId,
    session,
  }: InvocationContext): AsyncGenerator<Event, void, void> {
    const round = Number(session.state['round'] ?? 0) + 1;
    const actions = createEventActions({ stateDelta: { round, 'user:last': `round ${round}` }, escalate: round === 2 });
    yield createEvent({ author: this.name, invocationId, actions });
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const describe: InstructionProvider = ({ state }) => `This is round ${String(state.get('round') ?? 0)}. Braces {stay}.`;
const poet = new LlmAgent({ name: 'poet', model: 'gemini-flash-latest', instruction: describe, outputKey: 'line' });
const judge = new LlmAgent({
  name: 'judge',
  model: 'gemini-flash-latest',
  instruction: 'Judge {line}, after {user:last?}. {missing?}',
  includeContents: 'none',
});
const rootAgent = new LoopAgent({ name: 'loop', subAgents: [poet, judge, new Counter()], maxIterations: 5 });

const program: Program = {
  replies: ['First line.', 'Good.', 'Second line.', 'Better.'].map((text) => jsonReply(wireResponse(text))),
  main: (tell) => converse(tell, rootAgent, ['Write a poem.']),
};
export default program;
