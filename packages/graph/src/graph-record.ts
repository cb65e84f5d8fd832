import {
  type Event,
  type FunctionCall,
  getFunctionCalls,
  type InvocationContext,
  type JsonObject,
  type JsonValue,
} from '@eventloom/core';
import { answerOf, aboutCallId, Calls, inputRequestOf, isCancelled } from '@eventloom/core/internal';
import {
  askingRun,
  START_RUN,
  changedChannels,
  checkpointOf,
  FINISH,
  outermostRun,
  placeOf,
  UPDATE,
} from './checkpoint.ts';
import { frozen } from './json-values.ts';
import { GraphProgress } from './graph-progress.ts';
import type { GraphPlan } from './graph-plan.ts';

/** A question of a node, and its answer. */
export interface AskedQuestion {
  readonly call: FunctionCall;
  readonly key: string;
  /** The event that asks. */
  readonly event: Event;
  /** The place of the call among the calls of the event. */
  readonly index: number;
  /** The person's answer; undefined while there is none. Do not modify: every attempt reads it. */
  readonly answer: Readonly<Record<string, JsonValue>> | undefined;
}

/**
 * The state of one run of a graph, computed from its events: its progress and the values of its channels. While nodes
 * run, each event is added when it is stored; for a run that is resumed or inspected, all events are read first.
 */
export class GraphRecord {
  readonly progress: GraphProgress;
  /** Current values of the channels without a `stateKey`. */
  readonly values = new Map<string, JsonValue>();
  /**
   * Channel values at the beginning of the current step. Channels with a `stateKey` have the value from the beginning of the graph.
   */
  found: ReadonlyMap<string, JsonValue> = new Map();
  /** The run of the current step that wrote each channel, by channel name. Writes of inner runs count for the run of the step. */
  readonly writers = new Map<string, string>();
  /** Outputs of runs that other runs started, and the digests of their inputs. */
  readonly inner = new Map<string, { readonly output: JsonValue | undefined; readonly given: string | undefined }>();
  /** Ids of the runs whose events have content. */
  readonly withContent = new Set<string>();
  /** The event with which the graph began; undefined before it. */
  start: Event | undefined;
  /** The last event before the current step: of the previous step, or one that changed channels from outside. */
  lastOfStepBefore: Event | undefined;
  isFinished = false;
  readonly #plan: GraphPlan;
  readonly #questions = new Map<string, AskedQuestion[]>();

  /** @param events the events of one execution of the graph, in order */
  constructor(plan: GraphPlan, events: readonly Event[] = []) {
    this.#plan = plan;
    this.progress = new GraphProgress(plan);
    for (const event of events) this.add(event);
  }

  add(event: Event): void {
    const asking = askingRun(event);
    if (asking !== undefined) this.#addQuestions(asking, event);
    const checkpoint = checkpointOf(event);
    if (!checkpoint) return;
    const { run, given, next = [] } = checkpoint;
    const output = checkpoint.output === undefined ? undefined : frozen(checkpoint.output);
    const changed = changedChannels(checkpoint, (name) => this.values.get(name));
    for (const [name, value] of Object.entries(changed)) this.values.set(name, frozen(value));
    for (const [name, { stateKey }] of this.#plan.channels) {
      if (Object.hasOwn(stateKey === undefined ? changed : event.actions.stateDelta, stateKey ?? name))
        this.writers.set(name, outermostRun(run));
    }
    if (run === START_RUN) this.start = event;
    if (run === FINISH) this.isFinished = true;
    if (run === UPDATE) this.#beginStep(event);
    const place = placeOf(run);
    if (event.content) this.withContent.add(run);
    if (run.includes('~')) this.inner.set(run, { output, given });
    if (place?.step !== this.progress.step) return;
    this.progress.complete(place.index, { output, next });
    if (!this.progress.isStepDone) return;
    this.progress.advance();
    // Only nodes of the completed step needed the inner outputs.
    this.inner.clear();
    this.#beginStep(event);
  }

  #beginStep(event: Event): void {
    this.lastOfStepBefore = event;
    this.writers.clear();
    this.found = new Map(this.values);
  }

  #addQuestions(run: string, event: Event): void {
    const questions = this.#questions.get(run) ?? [];
    for (const [index, call] of getFunctionCalls(event).entries())
      questions.push({ call, key: inputRequestOf(call)?.key ?? '', answer: undefined, event, index });
    this.#questions.set(run, questions);
  }

  /** Reads the users' answers. A node's question with an expired answer is dropped, and the node asks again. */
  readAnswers(context: InvocationContext): void {
    const { invocation } = context;
    if (this.#questions.size === 0) return;
    const calls = Calls.of(invocation);
    const answered = (question: AskedQuestion): AskedQuestion[] => {
      const made = calls.madeIn(question.event)[question.index];
      // A question that was cancelled with an agent around the graph is asked again.
      if (made && isCancelled(made)) return [];
      const response = made && answerOf(made)?.response;
      if (!response) return [question];
      // A tool's request is kept, so that the tool learns that it expired.
      if (response['expired'] === true && aboutCallId(question.call) === undefined) return [];
      return [{ ...question, answer: frozen(structuredClone(response) as JsonObject) }];
    };
    for (const [run, questions] of this.#questions) this.#questions.set(run, questions.flatMap(answered));
  }

  /** Returns the questions of a run, in order. */
  questionsOf(run: string): readonly AskedQuestion[] {
    return this.#questions.get(run) ?? [];
  }
}
