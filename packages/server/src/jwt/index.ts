// Authenticates requests with JSON Web Tokens.

export type { JwtAuthenticateOptions } from './jwt-authenticate.ts';
export { jwtAuthenticate } from './jwt-authenticate.ts';
