// Must be imported first. Hides Node's warning about an experimental module, which does not concern users of this program.

process.removeAllListeners('warning');
process.on('warning', (warning) => {
  const isNoise =
    warning.name === 'ExperimentalWarning' || ('code' in warning && warning.code === 'MODULE_TYPELESS_PACKAGE_JSON');
  if (!isNoise) console.error(`${warning.name}: ${warning.message}`);
});
