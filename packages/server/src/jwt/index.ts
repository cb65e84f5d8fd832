// Says by a JSON Web Token who a request comes from.

export type { JwtAuthenticateOptions } from './jwt-authenticate.ts';
export { jwtAuthenticate } from './jwt-authenticate.ts';
