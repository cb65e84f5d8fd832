// What the packages of Eventloom share and applications do not need. It may change with every release.

export { type AnswerableCalls, type Call, type CallResponse, Calls, isSettled, openAnswers } from '../calls/calls.ts';
export { confirmationOf, personRequests, refusalOf } from '../calls/person-requests.ts';
export { checkRunConfigDefaults, MAX_RUN_ATTEMPTS, RUN_CONFIG_OPTIONS, runConfigOver } from '../agent/run-config.ts';
export { sealJson } from '../content/copy-json.ts';
export { isSameJson } from '../content/json.ts';
export { afterCovered } from '../event/event-actions.ts';
export { sealContent } from '../event/seal-event.ts';
export { nameFault } from '../session/check-name.ts';
export { isPromiseLike } from '../session/maybe-promise.ts';
export { ledgerCallId } from '../session/tool-ledger.ts';
export type { ObservedOperation } from '../instrumentation/instrumentation.ts';
export { combineInstrumentation, observeGenerator, startOperation } from '../instrumentation/instrumentation.ts';
export { moveResponseParts, type TakesResponsePart } from '../model/function-response-parts.ts';
export { sqliteResult, storageFailure } from '../platform/storage-failure.ts';
