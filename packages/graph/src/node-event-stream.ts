import { ConfigurationError, type Event, type JsonValue, type NodeEvent, ObjectType } from '@eventloom/core';
import type { GraphStep } from './graph-step.ts';

/** Maximum number of a node's events that wait to be read. */
const MAX_UNREAD = 1000;

type NodeReport = Omit<NodeEvent, 'nodeId' | 'stepNumber'>;

/** Details of a lifecycle event of a node run. */
export interface LifecycleDetails {
  readonly message?: string;
  readonly payload?: JsonValue;
}

/** Streams the events of one node run while it works, under the node's name. They are not stored. */
export class NodeEventStream {
  readonly #graph: GraphStep;
  readonly #nodeName: string;
  #unread = 0;

  constructor(graph: GraphStep, nodeName: string) {
    this.#graph = graph;
    this.#nodeName = nodeName;
  }

  /**
   * Emits an event of the node's function. Resolves to true when it was read, and to false if the stream has no reader.
   * @throws ConfigurationError synchronously, if too many events wait to be read
   */
  emit(report: NodeReport): Promise<boolean> {
    if (this.#unread >= MAX_UNREAD)
      throw new ConfigurationError(
        `node "${this.#nodeName}": ${MAX_UNREAD} of its events wait to be read; await the promise that emitCustom, emitProgress or emitText returns`,
      );
    this.#unread++;
    const taken = this.#graph.events.post(this.#event(ObjectType.graphNodeCustom, report));
    return taken.finally(() => this.#unread--);
  }

  /** Streams the progress of the node's tool. @param id the id of the tool call */
  emitToolProgress(id: string, toolName: string, output: JsonValue): Promise<boolean> {
    const response = { functionResponse: { id, name: toolName, response: { output } } };
    const content = { role: 'user', parts: [response] };
    const event = { author: this.#nodeName, object: ObjectType.toolResponse, partial: true, content };
    return this.#graph.events.post(this.#graph.context.createEvent(event));
  }

  /** Creates a lifecycle event of the node; undefined unless `nodeLifecycleEvents` is true. */
  createLifecycleEvent(object: string, eventType: string, details: LifecycleDetails = {}): Event | undefined {
    return this.#graph.hasLifecycleEvents
      ? this.#event(object, { eventType, category: 'custom', ...details })
      : undefined;
  }

  #event(object: string, report: NodeReport): Event {
    const name = this.#nodeName;
    const nodeEvent = { ...report, nodeId: name, stepNumber: this.#graph.step };
    return this.#graph.context.createEvent({ author: name, object, nodeEvent });
  }
}
