import type { ShownAgent } from './studio-client.ts';

/**
 * Returns the name of the outermost workflow in which an author is a node; undefined for an agent outside workflows,
 * and if several workflows may have the node. The tree has no nodes with functions.
 */
export function workflowOf(author: string, root: ShownAgent): string | undefined {
  const workflows = outermostWorkflows(root);
  const known = workflows.find((each) => below(each).some((agent) => namesIn(agent).includes(author)));
  if (known || namesIn(root).includes(author)) return known?.name;
  return workflows.length === 1 ? workflows[0]?.name : undefined;
}

function outermostWorkflows(agent: ShownAgent): ShownAgent[] {
  return agent.kind === 'Workflow' ? [agent] : below(agent).flatMap(outermostWorkflows);
}

function namesIn(agent: ShownAgent): string[] {
  return [agent.name, ...below(agent).flatMap(namesIn)];
}

function below({ subAgents, calledAgents }: ShownAgent): readonly ShownAgent[] {
  return [...subAgents, ...calledAgents];
}
