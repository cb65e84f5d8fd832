/** How far an agent's own model, and its tools, may hand the conversation over, beyond the agents below it. */
export interface TransferRules {
  readonly toParent: boolean;
  readonly toPeers: boolean;
}
