// Imported first: node says once a process that a module of its own may still change, which helps nobody who uses this program.

process.removeAllListeners('warning');
process.on('warning', (warning) => {
  const isNoise =
    warning.name === 'ExperimentalWarning' || ('code' in warning && warning.code === 'MODULE_TYPELESS_PACKAGE_JSON');
  if (!isNoise) console.error(`${warning.name}: ${warning.message}`);
});
