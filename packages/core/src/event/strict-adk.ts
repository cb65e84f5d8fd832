import { isRecord, setOwn } from '../content/json.ts';
import { type Event, notAnEvent } from './event.ts';

/** Key of `customMetadata` for Eventloom's additional fields in an ADK event. */
const CARRIER = 'eventloom';

/** Fields of adk-python's `Event`: those since 1.21, then those since 2.0. All other fields are additions. */
const ADK_FIELDS = new Set([
  'id',
  'invocationId',
  'author',
  'timestamp',
  'branch',
  'content',
  'partial',
  'turnComplete',
  'interrupted',
  'finishReason',
  'errorCode',
  'errorMessage',
  'usageMetadata',
  'groundingMetadata',
  'citationMetadata',
  'cacheMetadata',
  'logprobsResult',
  'avgLogprobs',
  'modelVersion',
  'interactionId',
  'liveSessionId',
  'goAway',
  'customMetadata',
  'inputTranscription',
  'outputTranscription',
  'liveSessionResumptionUpdate',
  'longRunningToolIds',
  'actions',
  'output',
  'nodeInfo',
  'isolationScope',
]);

/**
 * Returns the event with only the ADK's fields; Eventloom's fields move to `customMetadata.eventloom`. The `route` of a
 * node is also written to `actions.route`, where adk-python has it. `fromStrictAdk` is the inverse, even if the event's
 * own metadata has that key.
 */
export function toStrictAdk(event: Event): Event {
  if (!isRecord(event?.actions)) throw notAnEvent('toStrictAdk', event);
  const strict: Record<string, unknown> = {};
  const moved: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(event)) setOwn(ADK_FIELDS.has(key) ? strict : moved, key, value);
  const { timingInfo, ...usage } = event.usageMetadata ?? {};
  if (timingInfo !== undefined) {
    moved['timingInfo'] = timingInfo;
    strict['usageMetadata'] = usage;
  }
  const { removedState, history, requestedInputs, ...actions } = event.actions;
  const ours = withoutUndefined({ removedState, history, requestedInputs });
  if (Object.keys(ours).length > 0) {
    Object.assign(moved, ours);
    strict['actions'] = actions;
  }
  if (event.route !== undefined) strict['actions'] = { route: event.route, ...actions };
  if (event.customMetadata && Object.hasOwn(event.customMetadata, CARRIER))
    moved['customMetadata'] = event.customMetadata;
  if (Object.keys(moved).length > 0) strict['customMetadata'] = { ...event.customMetadata, [CARRIER]: moved };
  return strict as unknown as Event;
}

/** Restores the event that was given to `toStrictAdk`. */
export function fromStrictAdk(strict: Event): Event {
  if (!isRecord(strict)) throw notAnEvent('fromStrictAdk', strict);
  const carried: unknown = strict.customMetadata?.[CARRIER];
  if (typeof carried !== 'object' || carried === null) return strict;
  const { customMetadata, ...event } = strict;
  const { [CARRIER]: _, ...metadata } = customMetadata ?? {};
  const { timingInfo, removedState, history, requestedInputs, ...fields } = carried as Record<string, unknown>;
  const ours = withoutUndefined({ removedState, history, requestedInputs });
  const { route, ...actions } = event.actions as Event['actions'] & { readonly route?: unknown };
  const isCopied = route !== undefined && JSON.stringify(route) === JSON.stringify(fields['route']);
  return {
    ...event,
    ...(Object.keys(metadata).length > 0 ? { customMetadata: metadata } : {}),
    ...fields,
    ...(timingInfo === undefined ? {} : { usageMetadata: { ...event.usageMetadata, timingInfo } }),
    ...(Object.keys(ours).length > 0 || isCopied
      ? { actions: { ...(isCopied ? actions : event.actions), ...ours } }
      : {}),
  } as Event;
}

function withoutUndefined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
