import {
  BaseTool,
  ConfigurationError,
  enclosureOf,
  type FunctionDeclaration,
  type InvocationContext,
} from '@eventloom/core';

/** A function that the client runs: its calls have no response until the client's message brings one. */
class ClientTool extends BaseTool {
  readonly #declaration: FunctionDeclaration;

  constructor(name: string, declaration: FunctionDeclaration) {
    // Idempotent: the call itself does nothing here, so a resumed run may make it again.
    super({ name, description: declaration.description ?? '', isLongRunning: true, idempotent: true });
    this.#declaration = declaration;
  }

  override _getDeclaration(): FunctionDeclaration {
    return this.#declaration;
  }

  override runAsync(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
}

/** True when the agent offers the functions of `runConfig.clientTools`: agents called as tools, and agents in graphs, do not. */
export function offersClientTools({ runConfig, branch }: InvocationContext): boolean {
  return (runConfig.clientTools?.length ?? 0) > 0 && enclosureOf(branch) === '';
}

/**
 * The client's functions as tools of the context's agent.
 * @param own the agent's own tools
 * @throws ConfigurationError for a function with the name of one of them
 */
export function clientTools(context: InvocationContext, own: ReadonlySet<string>): BaseTool[] {
  if (!offersClientTools(context)) return [];
  return (context.runConfig.clientTools ?? []).map((declaration) => {
    const { name = '' } = declaration;
    if (own.has(name))
      throw new ConfigurationError(
        `runConfig.clientTools: the agent "${context.agent.name}" has a tool named "${name}" of its own; give the client's function another name`,
      );
    return new ClientTool(name, declaration);
  });
}
