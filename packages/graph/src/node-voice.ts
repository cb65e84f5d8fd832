import { ConfigurationError, type Event, type JsonValue, type NodeEvent, ObjectType } from '@eventloom/core';
import type { GraphStep } from './graph-step.ts';

/** Events that a node may have told and nobody took. */
const MAX_UNTAKEN = 1000;

type Told = Omit<NodeEvent, 'nodeId' | 'stepNumber'>;

/** What becomes of a run of a node, where the graph tells it. */
export interface LifecycleNews {
  readonly message?: string;
  readonly payload?: JsonValue;
}

/** What one run of a node tells while it works: streamed at once, by the node's name, and stored nowhere. */
export class NodeVoice {
  readonly #graph: GraphStep;
  readonly #nodeName: string;
  #untaken = 0;

  constructor(graph: GraphStep, nodeName: string) {
    this.#graph = graph;
    this.#nodeName = nodeName;
  }

  /**
   * What the node's function tells. Resolves to true when it was taken, and to false when nobody reads any more.
   * @throws ConfigurationError at the call, when too much waits to be taken
   */
  emit(told: Told): Promise<boolean> {
    if (this.#untaken >= MAX_UNTAKEN)
      throw new ConfigurationError(
        `node "${this.#nodeName}": ${MAX_UNTAKEN} of its events wait to be taken; await what emit… returns`,
      );
    this.#untaken++;
    const taken = this.#graph.outbox.post(this.#event(ObjectType.graphNodeCustom, told));
    return taken.finally(() => this.#untaken--);
  }

  /** How the node's tool gets on. @param id of the call */
  emitToolProgress(id: string, toolName: string, output: JsonValue): Promise<boolean> {
    const response = { functionResponse: { id, name: toolName, response: { output } } };
    const content = { role: 'user', parts: [response] };
    const event = { author: this.#nodeName, object: ObjectType.toolResponse, partial: true, content };
    return this.#graph.outbox.post(this.#graph.context.createEvent(event));
  }

  /** The event that says where the node is; undefined in a graph that does not tell. */
  lifecycle(object: string, eventType: string, news: LifecycleNews = {}): Event | undefined {
    return this.#graph.tellsLifecycle ? this.#event(object, { eventType, category: 'custom', ...news }) : undefined;
  }

  #event(object: string, told: Told): Event {
    const name = this.#nodeName;
    const nodeEvent = { ...told, nodeId: name, stepNumber: this.#graph.step };
    return this.#graph.context.createEvent({ author: name, object, nodeEvent });
  }
}
