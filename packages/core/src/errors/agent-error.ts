import { EventloomError } from './eventloom-error.ts';

/** User code in an agent, callback or plugin threw something that is no Eventloom error; `cause` is what it threw. */
export class AgentError extends EventloomError {
  static override readonly code = 'AGENT';
}
