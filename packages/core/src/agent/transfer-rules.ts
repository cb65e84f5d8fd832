/** How far an agent's own model may hand the conversation over, beyond the agent's sub-agents. */
export interface TransferRules {
  readonly toParent: boolean;
  readonly toPeers: boolean;
}
