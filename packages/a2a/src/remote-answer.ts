import type { Event, InvocationContext, Part } from '@eventloom/core';
import { toPart } from './parts.ts';
import { CONTEXT_ID, TASK_ID } from './task-view.ts';
import {
  type A2AArtifactUpdate,
  type A2AMessage,
  type A2APart,
  type A2AStatus,
  type A2AUpdate,
  isTerminal,
  isWaiting,
  type Metadata,
} from './wire.ts';

/** An artifact whose end has not come. */
interface OpenArtifact {
  readonly parts: Part[];
}

/** The answer of a remote agent to one message, as events of the local agent. */
export class RemoteAnswer {
  taskId: string | undefined;
  contextId: string | undefined;
  /** The newest status of the task; undefined for an answer without a task. */
  status: A2AStatus | undefined;
  readonly #context: InvocationContext;
  /** Ids of the artifacts that the session has already. */
  readonly #known: Set<string>;
  readonly #open = new Map<string, OpenArtifact>();
  #isAnswered = false;
  /** True until the first item about a task that is continued: a snapshot may show what it waited for before. */
  #mayBeOld: boolean;
  #oldStatus: A2AStatus | undefined;

  /** @param known `responseId` of the events that the session has of the task */
  constructor(context: InvocationContext, task: Pick<A2AMessage, 'taskId' | 'contextId'>, known: Iterable<string>) {
    this.#context = context;
    this.taskId = task.taskId;
    this.contextId = task.contextId;
    this.#known = new Set(known);
    this.#mayBeOld = task.taskId !== undefined;
  }

  /** True if nothing more follows: the task ended or waits, or the answer was a message. */
  get isSettled(): boolean {
    return (
      this.#isAnswered || (this.status !== undefined && (isTerminal(this.status.state) || isWaiting(this.status.state)))
    );
  }

  /** Adds an item of the stream, and yields the events that it makes. @throws A2AProtocolError for a part that cannot be read */
  *add(update: A2AUpdate): Generator<Event, void, void> {
    if ('message' in update) {
      const { message } = update;
      this.taskId = message.taskId ?? this.taskId;
      this.contextId = message.contextId ?? this.contextId;
      this.#isAnswered = true;
      yield* this.#whole(message.messageId, toParts(message.parts));
    } else if ('task' in update) {
      const { id, contextId, status, artifacts = [] } = update.task;
      this.taskId = id;
      this.contextId = contextId;
      if (this.#mayBeOld && isWaiting(status.state)) this.#oldStatus = status;
      else this.status = status;
      for (const { artifactId, parts } of artifacts)
        if (!this.#known.has(this.#responseId(artifactId)))
          this.#open.set(artifactId, { parts: merge([], toParts(parts)) });
    } else if ('statusUpdate' in update) {
      const { taskId, contextId, status } = update.statusUpdate;
      this.taskId = taskId;
      this.contextId = contextId;
      this.status = status;
      // What a working agent says of its work is no part of its answer.
      const progress = this.isSettled ? [] : (status.message?.parts ?? []);
      const parts = toParts(progress).flatMap(({ text }) => (text === undefined ? [] : [{ text, thought: true }]));
      if (parts.length > 0) yield this.#event(`${status.message?.messageId}`, parts, true);
    } else {
      yield* this.#addArtifact(update.artifactUpdate);
    }
    this.#mayBeOld = false;
  }

  /** Yields what the task has and was not marked as whole, when the answer has ended. */
  *rest(): Generator<Event, void, void> {
    this.status ??= this.#oldStatus;
    for (const [artifactId, { parts }] of this.#open) yield* this.#whole(artifactId, parts);
    this.#open.clear();
    const { status } = this;
    if (status?.state === 'TASK_STATE_COMPLETED' && status.message)
      yield* this.#whole(status.message.messageId, toParts(status.message.parts));
  }

  *#addArtifact({
    taskId,
    contextId,
    artifact,
    append,
    lastChunk,
    metadata,
  }: A2AArtifactUpdate): Generator<Event, void, void> {
    this.taskId = taskId;
    this.contextId = contextId;
    const { artifactId } = artifact;
    const parts = toParts(artifact.parts);
    const before = this.#open.get(artifactId);
    const merged = merge(append === true ? (before?.parts ?? []) : [], parts);
    const isWhole = lastChunk === true && !isPartial(metadata);
    const replaces = before !== undefined && append !== true;
    // A chunk that replaces others cannot be shown beside them: the whole comes at the end.
    if (parts.length > 0 && !replaces && !(isWhole && !before)) yield this.#event(artifactId, parts, true);
    if (!isWhole) {
      this.#open.set(artifactId, { parts: merged });
      return;
    }
    this.#open.delete(artifactId);
    yield* this.#whole(artifactId, merged);
  }

  *#whole(id: string, parts: Part[]): Generator<Event, void, void> {
    const responseId = this.#responseId(id);
    if (parts.length === 0 || this.#known.has(responseId)) return;
    this.#known.add(responseId);
    yield this.#event(id, parts, false);
  }

  #event(id: string, parts: Part[], partial: boolean): Event {
    const { taskId, contextId } = this;
    return this.#context.createEvent({
      content: { role: 'model', parts },
      responseId: this.#responseId(id),
      ...(partial ? { partial } : {}),
      customMetadata: {
        ...(taskId === undefined ? {} : { [TASK_ID]: taskId }),
        ...(contextId === undefined ? {} : { [CONTEXT_ID]: contextId }),
      },
    });
  }

  /** Ids of artifacts are unique in a task only. */
  #responseId(id: string): string {
    return `${this.taskId ?? ''}/${id}`;
  }
}

function isPartial(metadata: Metadata | undefined): boolean {
  return metadata?.['adk_partial'] === true;
}

/** Returns the parts of an answer. The calls of the remote agent's tools are its own. */
function toParts(parts: readonly A2APart[]): Part[] {
  return parts
    .map((part, index) => toPart(`parts[${index}]`, part))
    .filter(({ functionCall, functionResponse }) => !functionCall && !functionResponse);
}

/** Adds parts to a list, and joins texts that follow each other. Changes the list. */
function merge(list: Part[], parts: readonly Part[]): Part[] {
  for (const part of parts) {
    const last = list.at(-1);
    const isText = last?.text !== undefined && part.text !== undefined && last.thought === part.thought;
    if (isText) list[list.length - 1] = { ...last, text: `${last.text}${part.text}` };
    else list.push(part);
  }
  return list;
}
