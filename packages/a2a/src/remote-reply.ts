import type { Event, InvocationContext, Part } from '@eventloom/core';
import { isSameJson } from '@eventloom/core/internal';
import { A2ALimitError, A2AProtocolError } from './errors.ts';
import { toPart } from './parts.ts';
import { APPENDED, CONTEXT_ID, TASK_ID } from './task-view.ts';
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

/** An artifact of which the server may send more. */
interface OpenArtifact {
  readonly parts: Part[];
  /** The parts that were shown, if a later chunk or a snapshot replaced them. Undefined: all parts were shown. */
  shown?: readonly Part[] | undefined;
  /** The number of parts that are the same as those that were shown, and are not compared again. */
  same?: number;
  /** Number of characters of the text after these parts that are the same as those that were shown. */
  sameChars?: number | undefined;
  /** True if the received parts do not begin with the parts already shown, so nothing can be appended to them. */
  differs?: boolean;
  /** True if the parts follow those that an event has as a whole. */
  readonly isAppended?: boolean;
}

/** An artifact that events have as a whole. */
interface ShownArtifact {
  /** The parts of its newest events, oldest first: an artifact that the server changes is one more event. */
  readonly versions: Part[][];
  /** Index of the first version that the stream may repeat. Infinity: everything that arrives is new, as in the stream of a message. */
  repeatable: number;
}

/** The number of versions of an artifact that are kept. A server could send any number. */
const MAX_VERSIONS = 20;

/** The reply of a remote agent to one message, as events of the local agent. */
export class RemoteReply {
  taskId: string | undefined;
  contextId: string | undefined;
  /** The newest status of the task; undefined for a reply without a task. */
  status: A2AStatus | undefined;
  /** True once the server has named the task of the reply. */
  isBound = false;
  /** Number of changes that the reply has brought so far. */
  progress = 0;
  readonly #context: InvocationContext;
  /** The artifacts that the session has already, by `responseId`. */
  readonly #shown = new Map<string, ShownArtifact>();
  readonly #open = new Map<string, OpenArtifact>();
  #isComplete = false;
  /** True until the first item about a continued task: a snapshot may have the status from before this message. */
  #mayBeOld: boolean;
  #oldStatus: A2AStatus | undefined;
  readonly #maxChars: number;
  /** Number of characters of the reply's artifacts, by their ids. A repeated artifact replaces the earlier count. */
  readonly #chars = new Map<string, number>();
  #allChars = 0;

  /**
   * @param known the events that the session has of the task, oldest first
   * @param isContinued true if the reply is that to a message for a task which waited for it
   * @param maxChars maximum number of characters of all artifacts, over all streams
   */
  constructor(
    context: InvocationContext,
    task: Pick<A2AMessage, 'taskId' | 'contextId'>,
    known: Iterable<Event>,
    isContinued: boolean,
    maxChars: number,
  ) {
    this.#maxChars = maxChars;
    this.#context = context;
    this.taskId = task.taskId;
    this.contextId = task.contextId;
    for (const { responseId, content, customMetadata } of known)
      if (responseId !== undefined)
        this.#addVersion(responseId, content?.parts ?? [], customMetadata?.[APPENDED] === true);
    this.#mayBeOld = isContinued;
  }

  /** Begins a further stream about the task, which may repeat what the streams before it brought. */
  restart(): void {
    for (const shown of this.#shown.values()) shown.repeatable = 0;
  }

  /** True if nothing more follows: the task ended or waits, or the reply was a message. */
  get isSettled(): boolean {
    return (
      this.#isComplete || (this.status !== undefined && (isTerminal(this.status.state) || isWaiting(this.status.state)))
    );
  }

  /**
   * Adds an item of the stream, and yields the events that it makes.
   * @throws A2AProtocolError for a part that cannot be read, and for an item of another task
   */
  *add(update: A2AUpdate): Generator<Event, void, void> {
    if ('message' in update) {
      const { message } = update;
      if (message.taskId !== undefined) this.#bind(message.taskId, message.contextId);
      else this.contextId = message.contextId ?? this.contextId;
      this.#isComplete = true;
      yield* this.#whole(message.messageId, toParts(message.parts));
    } else if ('task' in update) {
      const { id, contextId, status, artifacts = [] } = update.task;
      this.#bind(id, contextId);
      if (this.#mayBeOld && isWaiting(status.state)) this.#oldStatus = status;
      else this.#setStatus(status);
      for (const { artifactId, parts } of artifacts) {
        const before = this.#open.get(artifactId);
        const snapshot = merge([], toParts(parts));
        this.#open.delete(artifactId);
        const versions = this.#shown.get(this.#responseId(artifactId))?.versions;
        if (versions?.some((version) => isSameJson(version, snapshot))) continue;
        this.#count(artifactId, snapshot, false);
        this.#open.set(artifactId, { parts: snapshot, shown: before?.shown ?? before?.parts ?? [] });
      }
    } else if ('statusUpdate' in update) {
      const { taskId, contextId, status } = update.statusUpdate;
      this.#bind(taskId, contextId);
      this.#setStatus(status);
      // The message of a working agent reports its progress, and is not part of its reply.
      const progress = this.isSettled ? [] : (status.message?.parts ?? []);
      const parts = toParts(progress).flatMap(({ text }) => (text === undefined ? [] : [{ text, thought: true }]));
      if (parts.length > 0) yield this.#event(`${status.message?.messageId}`, parts, true);
    } else {
      const { taskId, contextId } = update.artifactUpdate;
      this.#bind(taskId, contextId);
      yield* this.#addArtifact(update.artifactUpdate);
    }
    this.#mayBeOld = false;
  }

  /** Restores the status that a continued task had before, if the reply brought no other. Call it after the reply ended. */
  end(): void {
    this.status ??= this.#oldStatus;
  }

  /** Yields the artifacts that the server never marked as complete, and the message of a completed task. Call it after the reply ended. */
  *rest(): Generator<Event, void, void> {
    for (const [artifactId, { parts, isAppended }] of this.#open) yield* this.#whole(artifactId, parts, isAppended);
    this.#open.clear();
    const { status } = this;
    if (status?.state === 'TASK_STATE_COMPLETED' && status.message)
      yield* this.#whole(status.message.messageId, toParts(status.message.parts));
  }

  /** Notes the task of an item. The first item decides which task the reply is about. @throws A2AProtocolError for another task */
  #bind(taskId: string, contextId: string | undefined): void {
    if (this.isBound && (taskId !== this.taskId || (contextId ?? this.contextId) !== this.contextId))
      throw new A2AProtocolError(`the reply of the task ${this.taskId} has an item of another task or context`);
    this.isBound = true;
    this.taskId = taskId;
    this.contextId = contextId ?? this.contextId;
  }

  #setStatus(status: A2AStatus): void {
    const { state, message, timestamp } = this.status ?? {};
    if (state !== status.state || message?.messageId !== status.message?.messageId || timestamp !== status.timestamp)
      this.progress++;
    this.status = status;
  }

  *#addArtifact({ artifact, append, lastChunk, metadata }: A2AArtifactUpdate): Generator<Event, void, void> {
    const { artifactId } = artifact;
    const parts = toParts(artifact.parts);
    const shown = this.#shown.get(this.#responseId(artifactId));
    const before =
      this.#open.get(artifactId) ?? (shown && append === true ? { parts: [], isAppended: true } : undefined);
    const appends = append === true && before !== undefined;
    const open: OpenArtifact = appends ? before : { parts: [], shown: before && (before.shown ?? before.parts) };
    this.#count(artifactId, parts, appends);
    merge(open.parts, parts);
    const isWhole = lastChunk === true && !isPartial(metadata);
    // An artifact that the server may repeat is shown as a whole only, if it has changed.
    if ((shown?.repeatable ?? Infinity) === Infinity && (!isWhole || appends)) {
      const news = open.shown ? newParts(open, open.shown) : parts;
      if (news) open.shown = undefined;
      if (news && news.length > 0) yield this.#event(artifactId, news, true, open.isAppended);
    }
    if (!isWhole) {
      this.#open.set(artifactId, open);
      return;
    }
    this.#open.delete(artifactId);
    yield* this.#whole(artifactId, open.parts, open.isAppended);
  }

  /**
   * Counts the parts of an artifact. Otherwise a server that ends its streams again and again could send any number of artifacts.
   * @throws A2ALimitError
   */
  #count(artifactId: string, parts: readonly Part[], appends: boolean): void {
    const before = this.#chars.get(artifactId);
    const chars = (appends ? (before ?? 0) : artifactId.length) + charsOf(parts);
    this.#chars.set(artifactId, chars);
    this.#allChars += chars - (before ?? 0);
    if (this.#allChars > this.#maxChars)
      throw new A2ALimitError(
        `the artifacts of the reply have more than ${this.#maxChars} characters; write a larger maxResponseBytes to read them`,
      );
  }

  *#whole(id: string, parts: Part[], isAppended = false): Generator<Event, void, void> {
    const responseId = this.#responseId(id);
    if (parts.length === 0 || (!isAppended && this.#repeats(responseId, parts))) return;
    // The limit counts the version that this one replaces as well.
    if (!isAppended) this.#allChars += charsOf(this.#shown.get(responseId)?.versions.at(-1) ?? []);
    this.#addVersion(responseId, parts, isAppended);
    yield this.#event(id, parts, false, isAppended);
  }

  /** True if the parts are those of an event, which the server repeats. */
  #repeats(responseId: string, parts: readonly Part[]): boolean {
    const shown = this.#shown.get(responseId);
    const repeated = shown?.versions.findIndex((each, index) => index >= shown.repeatable && isSameJson(each, parts));
    if (!shown || repeated === undefined || repeated === -1) return false;
    shown.repeatable = repeated;
    return true;
  }

  #addVersion(responseId: string, parts: readonly Part[], isAppended: boolean): void {
    const versions = this.#shown.get(responseId)?.versions ?? [];
    const last = versions.at(-1);
    if (isAppended && last) merge(last, parts);
    else versions.push([...parts]);
    if (versions.length > MAX_VERSIONS) versions.shift();
    this.#shown.set(responseId, { versions, repeatable: Infinity });
  }

  #event(id: string, parts: Part[], partial: boolean, isAppended = false): Event {
    const { taskId, contextId } = this;
    this.progress++;
    return this.#context.createEvent({
      content: { role: 'model', parts },
      responseId: this.#responseId(id),
      ...(partial ? { partial } : {}),
      customMetadata: {
        ...(taskId === undefined ? {} : { [TASK_ID]: taskId }),
        ...(contextId === undefined ? {} : { [CONTEXT_ID]: contextId }),
        ...(isAppended ? { [APPENDED]: true } : {}),
      },
    });
  }

  /** Ids of artifacts are unique in a task only. */
  #responseId(id: string): string {
    return `${this.taskId ?? ''}/${id}`;
  }
}

/** The least size of a part, so that empty parts count as well. */
const MIN_PART = 16;

function charsOf(parts: readonly Part[]): number {
  let chars = 0;
  for (const part of parts) chars += MIN_PART + (part.text ?? part.inlineData?.data ?? JSON.stringify(part)).length;
  return chars;
}

function isPartial(metadata: Metadata | undefined): boolean {
  return metadata?.['adk_partial'] === true;
}

/** Returns the parts of a reply. The calls of the remote agent's tools are its own. */
function toParts(parts: readonly A2APart[]): Part[] {
  return parts
    .map((part, index) => toPart(`parts[${index}]`, part))
    .filter(({ functionCall, functionResponse }) => !functionCall && !functionResponse);
}

/**
 * Returns the parts of an artifact behind those that were shown. Undefined if the artifact does not begin with the shown parts: then the
 * whole artifact is yielded at the end. Takes linear time for an artifact that grows, independent of the number of its chunks.
 */
function newParts(open: OpenArtifact, shown: readonly Part[]): Part[] | undefined {
  const { parts } = open;
  if (open.differs === true) return undefined;
  for (let index = open.same ?? 0; index < shown.length; index++) {
    const [before, part] = [shown[index], parts[index]];
    if (!before || !part) return undefined;
    const isLast = index === parts.length - 1;
    const isCompared = index === open.same && part.text?.length === open.sameChars;
    const comparison = isCompared ? 'same' : compareParts(before, part, isLast);
    if (comparison === 'shorter') return undefined;
    // More text than was shown counts only in the last part of both.
    open.differs = comparison === 'different' || (comparison === 'longer' && index < shown.length - 1);
    if (open.differs) return undefined;
    if (comparison === 'longer') {
      const rest = (part.text ?? '').slice(before.text?.length);
      return [{ ...part, text: rest }, ...parts.slice(index + 1)];
    }
    // The last text may still grow.
    open.same = isLast ? index : index + 1;
    open.sameChars = isLast ? part.text?.length : undefined;
  }
  return parts.slice(shown.length);
}

/**
 * Compares a part with the shown one of the same index. A text that may still grow and is shorter than the shown one is
 * `shorter`, not `different`.
 */
function compareParts(before: Part, part: Part, mayGrow: boolean): 'same' | 'longer' | 'shorter' | 'different' {
  if (before.text === undefined || part.text === undefined || before.thought !== part.thought)
    return JSON.stringify(before) === JSON.stringify(part) ? 'same' : 'different';
  if (part.text.length < before.text.length) return mayGrow ? 'shorter' : 'different';
  if (!part.text.startsWith(before.text)) return 'different';
  return part.text.length > before.text.length ? 'longer' : 'same';
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
