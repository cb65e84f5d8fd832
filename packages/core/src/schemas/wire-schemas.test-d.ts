// Compiled and never run: what the schemas give is what the runtime's types say.
import type * as z from 'zod';
import type { Content, Part } from '../content/content.ts';
import type { Event } from '../event/event.ts';
import type { EventActions } from '../event/event-actions.ts';
import type { OnBusy } from '../session/session-lease.ts';
import type { contentShape, partShape } from './content-schema.ts';
import type { eventActionsShape, eventShape } from './event-schema.ts';
import type { CreateSessionBody, eventSchema, RunBody } from './index.ts';

/** The keys that a type names, without the index signature of unknown ones and without symbols. */
type KeysOf<T> = keyof { [K in keyof T as string extends K ? never : number extends K ? never : K]: T[K] } & string;
type Equal<A, B> = [A, B] extends [B, A] ? true : false;
type Extends<A, B> = A extends B ? true : false;

function holds<_T extends true>(): void {}

type WireEvent = z.infer<typeof eventShape>;
type WireActions = z.infer<typeof eventActionsShape>;
type WirePart = z.infer<typeof partShape>;
type WireContent = z.infer<typeof contentShape>;

holds<Equal<KeysOf<WireEvent>, KeysOf<Event>>>();
holds<Equal<KeysOf<WireActions>, KeysOf<EventActions>>>();
holds<Equal<KeysOf<WirePart>, KeysOf<Part>>>();
holds<Equal<KeysOf<WireContent>, KeysOf<Content>>>();
holds<Equal<KeysOf<NonNullable<WireEvent['nodeEvent']>>, KeysOf<NonNullable<Event['nodeEvent']>>>>();
holds<Equal<KeysOf<NonNullable<WireEvent['error']>>, KeysOf<NonNullable<Event['error']>>>>();
holds<Equal<KeysOf<NonNullable<WirePart['functionCall']>>, KeysOf<NonNullable<Part['functionCall']>>>>();
holds<Equal<KeysOf<NonNullable<WirePart['functionResponse']>>, KeysOf<NonNullable<Part['functionResponse']>>>>();
holds<Equal<KeysOf<NonNullable<WirePart['inlineData']>>, KeysOf<NonNullable<Part['inlineData']>>>>();

// What is read can be used wherever the runtime wants its own types.
holds<Extends<WireEvent, Event>>();
holds<Extends<WireActions, EventActions>>();
holds<Extends<WirePart, Part>>();
holds<Extends<WireContent, Content>>();
holds<Equal<z.infer<typeof eventSchema>, Event>>();
holds<Equal<NonNullable<RunBody['newMessage']>, Content>>();
holds<Equal<NonNullable<RunBody['onBusy']>, OnBusy>>();
holds<Equal<NonNullable<CreateSessionBody['events']>, Event[]>>();
holds<Equal<NonNullable<CreateSessionBody['state']>, Record<string, unknown>>>();
