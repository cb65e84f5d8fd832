import type { Content } from '../content/content.ts';
import { type State, StateReader } from '../state/state.ts';
import type { InvocationContext } from './invocation-context.ts';

/** State to read and not to write. */
export type ReadonlyState = Pick<State, 'get' | 'has' | 'toRecord'>;

/** The context of an instruction function: the agent, the user, the session, and its state to read. */
export class ReadonlyContext {
  readonly invocationContext: InvocationContext;

  constructor(invocationContext: InvocationContext) {
    this.invocationContext = invocationContext;
  }

  get invocationId(): string {
    return this.invocationContext.invocationId;
  }

  get agentName(): string {
    return this.invocationContext.agent.name;
  }

  get appName(): string {
    return this.invocationContext.appName;
  }

  get userId(): string {
    return this.invocationContext.userId;
  }

  get sessionId(): string {
    return this.invocationContext.session.id;
  }

  /** The message that set the invocation off. */
  get userContent(): Content | undefined {
    return this.invocationContext.userContent;
  }

  /** The session's state as this invocation sees it, writes not yet committed included. */
  get state(): ReadonlyState {
    return new StateReader(this.invocationContext.session.state);
  }
}
