import type { ArtifactVersion } from '../artifact/artifact-service.ts';
import type { Content, Part } from '../content/content.ts';
import type { Event } from '../event/event.ts';
import { ACTIONS, CONTENT, EVENT, PART } from '../event/event-shape.ts';
import {
  DATA,
  described,
  type Field,
  FLAG,
  INTEGER,
  limited,
  listOf,
  oneOf,
  required,
  SECONDS,
  shape,
  TEXT,
} from '../event/field.ts';
import type { SessionJson } from '../session/session.ts';
import type { OnBusy } from '../session/session-lease.ts';

/** The body of `POST /run` and `POST /run_sse`: a message, or the run to resume, or both when the message answers calls of that run. */
export interface RunBody {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly newMessage?: Content;
  readonly streaming?: boolean;
  readonly stateDelta?: Record<string, unknown>;
  readonly invocationId?: string;
  readonly requestId?: string;
  readonly ifKnown?: 'follow' | 'resume' | 'reject';
  readonly customMetadata?: Record<string, unknown>;
  readonly completionEvent?: boolean;
  readonly onBusy?: OnBusy;
}

/** The body of a request that creates a session. No body means an empty one. */
export interface CreateSessionBody {
  readonly sessionId?: string;
  readonly state?: Record<string, unknown>;
  readonly events?: Event[];
}

/** The body that changes a session's state. */
export interface PatchSessionBody {
  readonly stateDelta: Record<string, unknown>;
}

/** The body that takes a session back to before an invocation. */
export interface RewindSessionBody {
  readonly rewindBeforeInvocationId: string;
  readonly onBusy?: OnBusy;
}

/** The body that copies a session up to an event. */
export interface ForkSessionBody {
  readonly afterEventId: string;
  readonly sessionId?: string;
}

/** The body that saves a version of an artifact. */
export interface SaveArtifactBody {
  readonly filename: string;
  readonly artifact: Part;
  readonly customMetadata?: Record<string, unknown>;
}

/** The JSON body of each HTTP response that reports an error. */
export interface ErrorBody {
  readonly error: string;
  readonly code: string;
  /**
   * The address of a run: of the one that holds the session (`SESSION_BUSY`, if the server knows it; `RUN_OPEN`), of the one that the
   * `requestId` began (`REQUEST_KNOWN`), or of the request's own, which continues (`RUN_GOES_ON`).
   */
  readonly run?: string | undefined;
}

const NAME = limited(TEXT, { minLength: 1 });
const ON_BUSY = described(
  oneOf<OnBusy>('queue', 'reject', 'interrupt'),
  'Handling of a busy session: wait for it, refuse the request, or interrupt the run that holds it.',
);

/** Describes a body: `readBody` refuses unknown members. */
const CLOSED = { isOpen: false };

export const RUN_BODY: Field<RunBody> = described(
  shape<RunBody>(
    {
      appName: required(NAME),
      userId: required(NAME),
      sessionId: required(NAME),
      newMessage: CONTENT,
      streaming: described(FLAG, 'True also sends the chunks of each reply.'),
      stateDelta: described(DATA, 'State that is written with the message.'),
      invocationId: described(NAME, 'Id of the run to resume, which was interrupted or waits for an answer.'),
      requestId: described(
        NAME,
        "The caller's own id for the request: the same id in a session is the same run, and is refused with another message.",
      ),
      ifKnown: described(
        oneOf('follow', 'resume', 'reject'),
        'Handling of a known requestId: answer with its run (follow, the default), first resume that run if its process was lost (resume), or refuse the request (reject).',
      ),
      customMetadata: described(DATA, 'Added to customMetadata of every event of the run.'),
      completionEvent: described(FLAG, 'True ends the stream with a runner.completion event.'),
      onBusy: ON_BUSY,
    },
    CLOSED,
  ),
  'Members that resemble a known one are refused, and so are options of the run config, which only the server sets. Others are ignored.',
);

export const CREATE_SESSION_BODY: Field<CreateSessionBody> = shape<CreateSessionBody>(
  { sessionId: NAME, state: DATA, events: listOf(EVENT) },
  CLOSED,
);

export const PATCH_SESSION_BODY: Field<PatchSessionBody> = shape<PatchSessionBody>(
  { stateDelta: required(DATA) },
  CLOSED,
);

export const REWIND_SESSION_BODY: Field<RewindSessionBody> = shape<RewindSessionBody>(
  { rewindBeforeInvocationId: required(NAME), onBusy: ON_BUSY },
  CLOSED,
);

export const FORK_SESSION_BODY: Field<ForkSessionBody> = shape<ForkSessionBody>(
  {
    afterEventId: required(described(NAME, 'Id of the last event of the copy.')),
    sessionId: described(NAME, 'Id of the new session. Default: an id that the server creates.'),
  },
  CLOSED,
);

export const SAVE_ARTIFACT_BODY: Field<SaveArtifactBody> = shape<SaveArtifactBody>(
  {
    filename: required(described(NAME, 'Name of the artifact. With the prefix user: it belongs to the user.')),
    artifact: required(PART),
    customMetadata: DATA,
  },
  CLOSED,
);

/** The schemas of the OpenAPI document by their names there. */
export const WIRE_SHAPES = {
  Part: PART,
  Content: CONTENT,
  EventActions: ACTIONS,
  Event: EVENT,
  Session: shape<SessionJson>(
    {
      id: required(TEXT),
      appName: required(TEXT),
      userId: required(TEXT),
      state: required(DATA),
      events: required(listOf(EVENT)),
      lastUpdateTime: required(SECONDS),
    },
    CLOSED,
  ),
  CreateSessionBody: CREATE_SESSION_BODY,
  PatchSessionBody: PATCH_SESSION_BODY,
  RewindSessionBody: REWIND_SESSION_BODY,
  ForkSessionBody: FORK_SESSION_BODY,
  SaveArtifactBody: SAVE_ARTIFACT_BODY,
  RunBody: RUN_BODY,
  ArtifactVersion: shape<ArtifactVersion>(
    {
      version: required(limited(INTEGER, { min: 0, max: Number.MAX_SAFE_INTEGER })),
      canonicalUri: required(TEXT),
      mimeType: required(TEXT),
      createTime: required(SECONDS),
      customMetadata: DATA,
    },
    CLOSED,
  ),
  ErrorBody: shape<ErrorBody>(
    {
      error: required(described(TEXT, 'Describes the fault and its place.')),
      code: required(described(TEXT, 'Stable code in upper snake case.')),
      run: described(TEXT, 'Address of a run: the one that holds the session, or that of the request if it continues.'),
    },
    CLOSED,
  ),
} as const satisfies Readonly<Record<string, Field>>;

/** The names of the wire schemas in OpenAPI. */
export type OpenApiSchemaName = keyof typeof WIRE_SHAPES;
