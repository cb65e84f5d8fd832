import {
  type BaseAgent,
  beginsResumableRun,
  type Content,
  type Event,
  InvalidRequestError,
  type RunConfig,
} from '@eventloom/core';
import { lastSpeaker, type PickedAgent } from '../pick-agent.ts';
import { eventsOfRun, isRunOver } from './events-of-run.ts';
import { InvocationLog } from './invocation-log.ts';
import { configOfBeginning } from './run-beginning.ts';

/** An invocation that goes on. */
export interface ResumedInvocation {
  readonly past: InvocationLog;
  /** The message that set it off. */
  readonly userContent: Content;
  /** Who was given control by that. */
  readonly picked: PickedAgent;
  /** What of the run's config is remembered. */
  readonly config: RunConfig;
}

/**
 * Reads from the log what an invocation is to go on with.
 * @throws InvalidRequestError for an invocation that the session does not have, that was not resumable, or that is over
 */
export function resumeInvocation(root: BaseAgent, events: readonly Event[], invocationId: string): ResumedInvocation {
  const own = eventsOfRun(events, invocationId);
  const [first] = own;
  const fail = (fault: string): never => {
    throw new InvalidRequestError(`invocationId: the run ${JSON.stringify(invocationId)} ${fault}`);
  };
  if (!first?.content) return fail('is none of this session');
  if (!beginsResumableRun(first)) return fail('was not resumable, or was imported; begin a new one');
  if (isRunOver(own)) return fail('is over');
  const { branch } = first;
  const began = own.find(({ author, executionId }) => author !== 'user' && executionId === invocationId);
  const before = events.slice(0, events.indexOf(first));
  const agent = began ? root.findAgent(began.author) : pickAgain(root, first, before);
  if (!agent) return fail(`began with the agent ${JSON.stringify(began?.author)}, and there is none of that name`);
  return {
    past: new InvocationLog(own),
    userContent: first.content,
    picked: { agent, branch },
    config: configOfBeginning(first),
  };
}

/** Before any agent event: picks the agent from the message, or from the history before it. */
function pickAgain(root: BaseAgent, { content }: Event, before: readonly Event[]): BaseAgent {
  const answered = content?.parts?.[0]?.functionResponse?.id;
  const asking =
    answered === undefined
      ? undefined
      : before.findLast((event) => event.content?.parts?.some(({ functionCall }) => functionCall?.id === answered));
  return (asking && root.findAgent(asking.author)) ?? lastSpeaker(root, before, new Map());
}
