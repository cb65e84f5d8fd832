// What the packages of Eventloom share and applications do not need. It may change with every release.

export { type AnswerableCalls, type Call, type CallResponse, Calls, isSettled, openAnswers } from '../calls/calls.ts';
export { confirmationOf, personRequests, refusalOf } from '../calls/person-requests.ts';
export { sealJson } from '../content/copy-json.ts';
export { afterCovered } from '../event/event-actions.ts';
export { isPromiseLike } from '../session/maybe-promise.ts';
export { ledgerCallId } from '../session/tool-ledger.ts';
export type { ObservedOperation } from '../instrumentation/instrumentation.ts';
export { combineInstrumentation, observeGenerator, startOperation } from '../instrumentation/instrumentation.ts';
export { moveResponseParts, type TakesResponsePart } from '../model/function-response-parts.ts';
