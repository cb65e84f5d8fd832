import { refusedTransfer } from './step/refused-transfer.ts';
import { requestEvents, whileAsking } from './step/request-events.ts';
import { answersTo } from './step/resumed-calls.ts';
import { resumeSteps } from './step/resume-steps.ts';

/** What an agent needs to ask people, to refuse hand-overs and to go on with a step that was cut off: not loaded with it. */
export const deferred = {
  answersTo,
  refusedTransfer,
  requestEvents,
  resumeSteps,
  whileAsking,
} as const;
