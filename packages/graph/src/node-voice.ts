import { ConfigurationError, type Event, type JsonValue, type NodeEvent, ObjectType } from '@eventloom/core';
import type { GraphStep } from './graph-step.ts';

/** Maximum number of a node's events that wait to be read. */
const MAX_UNTAKEN = 1000;

type NodeReport = Omit<NodeEvent, 'nodeId' | 'stepNumber'>;

/** Details of a lifecycle event of a node run. */
export interface LifecycleNews {
  readonly message?: string;
  readonly payload?: JsonValue;
}

/** Streams the events of one node run while it works, under the node's name. They are not stored. */
export class NodeVoice {
  readonly #graph: GraphStep;
  readonly #nodeName: string;
  #untaken = 0;

  constructor(graph: GraphStep, nodeName: string) {
    this.#graph = graph;
    this.#nodeName = nodeName;
  }

  /**
   * Emits an event of the node's function. Resolves to true when it was read, and to false if the stream has no reader.
   * @throws ConfigurationError synchronously, if too many events wait to be read
   */
  emit(report: NodeReport): Promise<boolean> {
    if (this.#untaken >= MAX_UNTAKEN)
      throw new ConfigurationError(
        `node "${this.#nodeName}": ${MAX_UNTAKEN} of its events wait to be read; await the promise that emitCustom, emitProgress or emitText returns`,
      );
    this.#untaken++;
    const taken = this.#graph.events.post(this.#event(ObjectType.graphNodeCustom, report));
    return taken.finally(() => this.#untaken--);
  }

  /** Streams the progress of the node's tool. @param id the id of the tool call */
  emitToolProgress(id: string, toolName: string, output: JsonValue): Promise<boolean> {
    const response = { functionResponse: { id, name: toolName, response: { output } } };
    const content = { role: 'user', parts: [response] };
    const event = { author: this.#nodeName, object: ObjectType.toolResponse, partial: true, content };
    return this.#graph.events.post(this.#graph.context.createEvent(event));
  }

  /** Creates a lifecycle event of the node; undefined unless `nodeLifecycleEvents` is true. */
  lifecycle(object: string, eventType: string, news: LifecycleNews = {}): Event | undefined {
    return this.#graph.tellsLifecycle ? this.#event(object, { eventType, category: 'custom', ...news }) : undefined;
  }

  #event(object: string, report: NodeReport): Event {
    const name = this.#nodeName;
    const nodeEvent = { ...report, nodeId: name, stepNumber: this.#graph.step };
    return this.#graph.context.createEvent({ author: name, object, nodeEvent });
  }
}
