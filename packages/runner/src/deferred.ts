// What few runs need: to go on with earlier ones, to undo them, long histories, compaction, messages with files. Not loaded with the runner.
export { answeredRun, findAnsweredRun } from './answered-run.ts';
export { completionEvent, completionOfUnbegun } from './completion-event.ts';
export { compactSession } from './compact-session.ts';
export { readAll, readHistory } from './history-reader.ts';
export { matchFunctionResponses } from './match-answers.ts';
export { restoreArtifacts } from './restore-artifacts.ts';
export { closeRun } from './resume/close-run.ts';
export { resumeInvocation } from './resume/resume-invocation.ts';
export { toBeginning } from './resume/run-beginning.ts';
export { rewind } from './rewind.ts';
export { saveInputBlobs } from './save-input-blobs.ts';
