// The health check of the image: asks the server on this machine whether it is alive. Exits with 0 or 1.

const { PORT = '8000' } = process.env;
try {
  const { ok } = await fetch(`http://127.0.0.1:${PORT}/livez`);
  process.exit(ok ? 0 : 1);
} catch (error) {
  console.error(error);
  process.exit(1);
}
