import {
  BasePlugin,
  type BaseTool,
  type Event,
  type FunctionCall,
  getFunctionCalls,
  REQUEST_CONFIRMATION,
  type ToolContext,
} from '@eventloom/core';
import { checkOptions, type OptionRules, wrongOption } from '@eventloom/core/internal';

/** The decisions of a policy about a tool call. */
export const PolicyOutcome = { DENY: 'DENY', CONFIRM: 'CONFIRM', ALLOW: 'ALLOW' } as const;
export type PolicyOutcome = (typeof PolicyOutcome)[keyof typeof PolicyOutcome];

/** A decision of a policy, with its reason for the model or the person. */
export interface PolicyCheckResult {
  /** A `PolicyOutcome`. */
  outcome: string;
  reason?: string | undefined;
}

/** The call that a policy decides about. */
export interface ToolCallPolicyContext {
  tool: BaseTool;
  toolArgs: Record<string, unknown>;
}

/** Decides whether tool calls may run. */
export interface BasePolicyEngine {
  evaluate(context: ToolCallPolicyContext): Promise<PolicyCheckResult>;
}

/** A policy that allows every call. */
export class InMemoryPolicyEngine implements BasePolicyEngine {
  evaluate(_context: ToolCallPolicyContext): Promise<PolicyCheckResult> {
    return Promise.resolve({
      outcome: PolicyOutcome.ALLOW,
      reason: 'For prototyping purpose, all tool calls are allowed.',
    });
  }
}

interface SecurityPluginOptions {
  readonly policyEngine?: BasePolicyEngine | undefined;
}

const OPTIONS: OptionRules<SecurityPluginOptions> = {
  policyEngine: {
    is: 'object',
    has: 'evaluate',
    wanted: 'a policy engine with evaluate',
    write: "{ evaluate: async ({ tool }) => ({ outcome: 'ALLOW' }) }",
  },
};

const STATES = 'orcas_tool_call_security_check_states';
const PENDING = 'This tool call needs external confirmation before completion.';

/**
 * Asks a policy before each tool call, and again when a person has answered: the call runs, is refused, or waits until
 * a person confirms it. The decisions are written to the session's state, under the key that the ADK uses, and not read
 * from there.
 *
 * @example
 * const policyEngine: BasePolicyEngine = {
 *   evaluate: async ({ tool }) => ({ outcome: tool.name === 'delete_files' ? PolicyOutcome.CONFIRM : PolicyOutcome.ALLOW }),
 * };
 * const runner = new InMemoryRunner({ agent, plugins: [new SecurityPlugin({ policyEngine })] });
 */
export class SecurityPlugin extends BasePlugin {
  readonly #policyEngine: BasePolicyEngine;

  /**
   * Default: `InMemoryPolicyEngine`, which allows every call.
   * @throws ConfigurationError for a policy engine without `evaluate`, and for an option that does not exist
   */
  constructor(options: SecurityPluginOptions = {}) {
    checkOptions('SecurityPlugin', OPTIONS, options);
    const { policyEngine = new InMemoryPolicyEngine() } = options;
    super('security_plugin');
    this.#policyEngine = policyEngine;
  }

  /** Asks the policy about each run of a call, also the one with the person's answer: state that a client may write decides nothing. */
  override async beforeToolCallback({
    tool,
    toolArgs,
    toolContext,
  }: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: ToolContext;
  }): Promise<Record<string, unknown> | undefined> {
    const { outcome, reason } = checkDecision(await this.#policyEngine.evaluate({ tool, toolArgs }));
    const { toolConfirmation, requests } = toolContext;
    const question = `Policy engine requires confirmation calling tool: ${tool.name}.`;
    const isOfPolicy = ({ hint = '' }: { readonly hint?: string | undefined }): boolean => hint.startsWith(question);
    const wasAsked = requests.some((request) => request.kind === 'confirmation' && isOfPolicy(request));
    const isAnswered = outcome === PolicyOutcome.CONFIRM && toolConfirmation !== undefined && wasAsked;
    keepDecision(toolContext, isAnswered ? toolConfirmation : outcome);
    // The tool asks its own question only once the policy's was answered with yes.
    if (isAnswered && !isOfPolicy(toolConfirmation)) return undefined;
    if (isAnswered) {
      if (!toolConfirmation.confirmed) return { error: 'Tool call rejected from confirmation flow.' };
      // This answer is not one to a question of the tool.
      Object.assign(toolContext, { toolConfirmation: undefined });
      return undefined;
    }
    switch (outcome) {
      case PolicyOutcome.DENY:
        return { error: `This tool call is rejected by policy engine. Reason: ${reason}` };
      case PolicyOutcome.CONFIRM:
        toolContext.requestConfirmation({ hint: `${question} Reason: ${reason}`, endsTurn: true });
        return { partial: PENDING };
      case PolicyOutcome.ALLOW:
        return undefined;
    }
  }
}

/** Checks the answer of a policy engine, because a call must not run if its answer is not understood. @throws ConfigurationError */
function checkDecision(
  decision: PolicyCheckResult | undefined,
): Pick<PolicyCheckResult, 'reason'> & { readonly outcome: PolicyOutcome } {
  const outcome = Object.values(PolicyOutcome).find((each) => each === decision?.outcome);
  if (decision && outcome) return { outcome, reason: decision.reason };
  throw wrongOption(
    'SecurityPlugin: policyEngine.evaluate',
    'outcome',
    'PolicyOutcome.ALLOW, CONFIRM or DENY',
    decision?.outcome,
    '{ outcome: PolicyOutcome.ALLOW }',
  );
}

/** Writes a decision to the session's state, where programs for the ADK read it. */
function keepDecision({ state, functionCallId }: ToolContext, decision: unknown): void {
  state.set(STATES, { ...state.get<Readonly<Record<string, unknown>>>(STATES, {}), [functionCallId]: decision });
}

/** Returns the calls of an event that request a person's confirmation of another call. */
export function getAskUserConfirmationFunctionCalls(event: Event): FunctionCall[] {
  return getFunctionCalls(event).filter(({ name }) => name === REQUEST_CONFIRMATION);
}
