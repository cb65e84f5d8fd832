// Live runs over WebSockets: the endpoint `/run_live` of a server.

export { liveEndpoint } from './live-endpoint.ts';
