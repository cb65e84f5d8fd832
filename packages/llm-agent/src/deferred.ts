import { startCalls } from './step/run-calls.ts';
import { answersTo } from './step/resumed-calls.ts';
import { resumeSteps } from './step/resume-steps.ts';
import { SetModelResponseTool } from './set-model-response-tool.ts';

/**
 * What an agent that only talks does without: to run calls, to ask people, and to go on with a step that was cut off. Not loaded with it.
 * Nothing here imports what is: a file that both need would be one more to load at the start, so what it needs of that it is given.
 */
export const deferred = {
  answersTo,
  resumeSteps,
  SetModelResponseTool,
  startCalls,
} as const;
