import { currentTurnContents, sessionContents } from '../contents/session-contents.ts';
import type { RequestProcessor } from './request-processor.ts';

/** What was said so far, as this agent's model is to see it. */
export const addContents: RequestProcessor = (request, { agent, context }) => {
  const contentsOf = agent.includeContents === 'none' ? currentTurnContents : sessionContents;
  request.contents = contentsOf(context, agent.codeExecutor);
};
