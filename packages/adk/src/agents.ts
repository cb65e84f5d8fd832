import { BaseAgent, type BaseAgentConfig, type Event, type InvocationContext } from '@eventloom/core';
import { BASE_AGENT_OPTIONS } from '@eventloom/core/internal';
import {
  LoopAgent,
  type LoopAgentConfig,
  ParallelAgent,
  type ParallelAgentConfig,
  SequentialAgent,
  type SequentialAgentConfig,
} from '@eventloom/multi-agent';
import type { SchemaLike } from '@eventloom/tools';
import type { Assignable } from './adk-types.ts';
import { type AgentNodeOptions, copyAgent, keepConfig, withoutNodeOptions } from './agent-options.ts';
import { isInstanceOf } from './class-checks.ts';
import { runFromProgram, runOverridden } from './overridden-runs.ts';

/**
 * Options of every agent of programs that were written for `@google/adk`: those of `@eventloom/core`, and those of its
 * node in a workflow.
 */
export interface AdkBaseAgentConfig extends Assignable<BaseAgentConfig>, AgentNodeOptions {
  /** Schema of the arguments when the agent is called as a tool, and of its input as a node. Default: a text, and any input. */
  inputSchema?: SchemaLike | undefined;
  /** Schema of the output of its node. Default: any output. */
  outputSchema?: SchemaLike | undefined;
}

/** The base of agent classes of the program. */
abstract class OwnAgent<C extends AdkBaseAgentConfig = AdkBaseAgentConfig> extends BaseAgent {
  /** The name of the class in error messages. */
  static override readonly name: string = 'BaseAgent';
  /** Schema of the output of the agent's node; undefined for any output. */
  readonly outputSchema: SchemaLike | undefined;
  readonly #inputSchema: SchemaLike | undefined;

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, OwnAgent, BaseAgent, value);
  }

  /** @throws ConfigurationError for an invalid or misspelt option, and for `parentAgent` */
  constructor(config: C) {
    super(withoutNodeOptions(config));
    this.outputSchema = config.outputSchema;
    this.#inputSchema = config.inputSchema;
    keepConfig(this, config);
  }

  override get inputSchema(): SchemaLike | undefined {
    return this.#inputSchema;
  }

  /**
   * Creates an agent of the same class with some options changed, and without a parent. Its sub-agents are copied too,
   * unless `changes` has `subAgents`. For classes whose constructor takes one object of options and passes it on.
   * @throws ConfigurationError for `parentAgent`, and for a sub-agent that cannot be copied
   */
  clone(changes: Partial<C> = {}): this {
    return copyAgent(this, changes);
  }

  override runAsync(
    parentContext: InvocationContext,
    place?: Parameters<BaseAgent['runAsync']>[1],
  ): AsyncGenerator<Event, void, void> {
    return runFromProgram(this, parentContext, place);
  }

  /** @internal */
  override runIn(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return runOverridden(this, OwnAgent.prototype, context, () => super.runIn(context));
  }
}

/**
 * Any agent of programs that were written for `@google/adk`, also one of another package of Eventloom. Its options have
 * no part in the type.
 */
export type AdkBaseAgent<_C extends AdkBaseAgentConfig = AdkBaseAgentConfig> = BaseAgent;

/**
 * Base of the agents of programs that were written for `@google/adk`: that of `@eventloom/core`, with the options of a node and `clone`.
 *
 * @example
 * class Greeter extends BaseAgent {
 *   protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
 *     yield context.createEvent({ content: { role: 'model', parts: [{ text: `Hello, ${context.userId}.` }] } });
 *   }
 * }
 * const greeter = new Greeter({ name: 'greeter', retryConfig: { maxAttempts: 3 } });
 */
export const AdkBaseAgent: typeof OwnAgent = OwnAgent;

/** Options of a `SequentialAgent` of programs that were written for `@google/adk`. */
export interface AdkSequentialAgentConfig extends Assignable<SequentialAgentConfig>, AgentNodeOptions {}

/**
 * The `SequentialAgent` of programs that were written for `@google/adk`: that of `eventloom`, with the options of a node and `clone`.
 *
 * @example
 * const pipeline = new SequentialAgent({ name: 'pipeline', subAgents: [agent], timeout: 60 });
 */
export class AdkSequentialAgent extends SequentialAgent {
  static override readonly name: string = 'SequentialAgent';

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, AdkSequentialAgent, SequentialAgent, value);
  }

  /** @throws ConfigurationError without `subAgents`, and for an invalid or unknown option */
  constructor(config: AdkSequentialAgentConfig) {
    super(withoutNodeOptions(config, new.target === AdkSequentialAgent ? undefined : BASE_AGENT_OPTIONS));
    keepConfig(this, config);
  }

  /** Creates a copy with some options changed, as `clone` of `BaseAgent` does. */
  clone(changes: Partial<AdkSequentialAgentConfig> = {}): this {
    return copyAgent(this, changes);
  }

  override runAsync(
    parentContext: InvocationContext,
    place?: Parameters<BaseAgent['runAsync']>[1],
  ): AsyncGenerator<Event, void, void> {
    return runFromProgram(this, parentContext, place);
  }

  /** @internal */
  override runIn(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return runOverridden(this, AdkSequentialAgent.prototype, context, () => super.runIn(context));
  }
}

/** Options of a `ParallelAgent` of programs that were written for `@google/adk`. */
export interface AdkParallelAgentConfig extends Assignable<ParallelAgentConfig>, AgentNodeOptions {}

/**
 * The `ParallelAgent` of programs that were written for `@google/adk`: that of `eventloom`, with the options of a node and `clone`.
 *
 * @example
 * const research = new ParallelAgent({ name: 'research', subAgents: [agent], timeout: 60 });
 */
export class AdkParallelAgent extends ParallelAgent {
  static override readonly name: string = 'ParallelAgent';

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, AdkParallelAgent, ParallelAgent, value);
  }

  /** @throws ConfigurationError without `subAgents`, and for an invalid or unknown option */
  constructor(config: AdkParallelAgentConfig) {
    super(
      withoutNodeOptions(
        config,
        new.target === AdkParallelAgent ? undefined : { ...BASE_AGENT_OPTIONS, maxConcurrency: 'any' },
      ),
    );
    keepConfig(this, config);
  }

  /** Creates a copy with some options changed, as `clone` of `BaseAgent` does. */
  clone(changes: Partial<AdkParallelAgentConfig> = {}): this {
    return copyAgent(this, changes);
  }

  override runAsync(
    parentContext: InvocationContext,
    place?: Parameters<BaseAgent['runAsync']>[1],
  ): AsyncGenerator<Event, void, void> {
    return runFromProgram(this, parentContext, place);
  }

  /** @internal */
  override runIn(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return runOverridden(this, AdkParallelAgent.prototype, context, () => super.runIn(context));
  }
}

/** Options of a `LoopAgent` of programs that were written for `@google/adk`. */
export interface AdkLoopAgentConfig extends Assignable<LoopAgentConfig>, AgentNodeOptions {}

/**
 * The `LoopAgent` of programs that were written for `@google/adk`: that of `eventloom`, with the options of a node and `clone`.
 *
 * @example
 * const refine = new LoopAgent({ name: 'refine', subAgents: [agent], maxIterations: 5, timeout: 60 });
 */
export class AdkLoopAgent extends LoopAgent {
  static override readonly name: string = 'LoopAgent';

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, AdkLoopAgent, LoopAgent, value);
  }

  /** @throws ConfigurationError without a sub-agent, and for an invalid or unknown option */
  constructor(config: AdkLoopAgentConfig) {
    super(
      withoutNodeOptions(
        config,
        new.target === AdkLoopAgent ? undefined : { ...BASE_AGENT_OPTIONS, maxIterations: 'any' },
      ),
    );
    keepConfig(this, config);
  }

  /** Creates a copy with some options changed, as `clone` of `BaseAgent` does. */
  clone(changes: Partial<AdkLoopAgentConfig> = {}): this {
    return copyAgent(this, changes);
  }

  override runAsync(
    parentContext: InvocationContext,
    place?: Parameters<BaseAgent['runAsync']>[1],
  ): AsyncGenerator<Event, void, void> {
    return runFromProgram(this, parentContext, place);
  }

  /** @internal */
  override runIn(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return runOverridden(this, AdkLoopAgent.prototype, context, () => super.runIn(context));
  }
}
