// What an agent needs to ask people, to refuse hand-overs and to go on with a step that was cut off: not loaded with it.
export { refusedTransfer } from './step/refused-transfer.ts';
export { requestEvents, whileAsking } from './step/request-events.ts';
export { answersTo } from './step/resumed-calls.ts';
export { resumeSteps } from './step/resume-steps.ts';
