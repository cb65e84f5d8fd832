export { assetFiles, studio } from './studio-protocol.ts';
export type { AssetBinding, StudioFiles, StudioOptions, TokenPrice } from './studio-protocol.ts';
export type { AgentDescription, ToolDescription } from './describe-agent.ts';
