#!/usr/bin/env node
// Runs the binary of this platform, which npm has installed as an optional dependency of `runtail`. npm.js copies this
// file into that package.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');

/** The package of each Rust target, and where npm installs it. */
const TARGETS = {
  'x86_64-unknown-linux-gnu': { name: '@runtail/linux-x64', os: 'linux', cpu: 'x64', libc: 'glibc' },
  'x86_64-unknown-linux-musl': { name: '@runtail/linux-x64-musl', os: 'linux', cpu: 'x64', libc: 'musl' },
  'aarch64-unknown-linux-gnu': { name: '@runtail/linux-arm64', os: 'linux', cpu: 'arm64', libc: 'glibc' },
  'aarch64-unknown-linux-musl': { name: '@runtail/linux-arm64-musl', os: 'linux', cpu: 'arm64', libc: 'musl' },
  'x86_64-apple-darwin': { name: '@runtail/darwin-x64', os: 'darwin', cpu: 'x64' },
  'aarch64-apple-darwin': { name: '@runtail/darwin-arm64', os: 'darwin', cpu: 'arm64' },
  'x86_64-pc-windows-msvc': { name: '@runtail/win32-x64', os: 'win32', cpu: 'x64' },
};

/** Returns the path of a package's binary, as `require` finds it. */
const file = ({ name, os }) => `${name}/bin/runtail${os === 'win32' ? '.exe' : ''}`;

/** Returns whether the C library is musl. The report names the version of glibc; without a report, the loader decides. */
function isMusl(report = process.report, lib = '/lib') {
  try {
    // Else the report resolves the names of all open connections.
    report.excludeNetwork = true;
    return !report.getReport().header.glibcVersionRuntime;
  } catch {
    return fs.existsSync(lib) && fs.readdirSync(lib).some((name) => name.startsWith('ld-musl-'));
  }
}

/** Returns the packages that run on a platform, best first. The musl builds are static, so they also run with glibc. */
function candidates(platform, arch, musl) {
  const all = Object.values(TARGETS).filter((target) => target.os === platform && target.cpu === arch);
  return all.filter((target) => !(musl && target.libc === 'glibc'));
}

/** Returns the binary, or throws an error for people. */
function find(platform = process.platform, arch = process.arch, musl = platform === 'linux' && isMusl()) {
  const packages = candidates(platform, arch, musl);
  for (const candidate of packages) {
    try {
      return require.resolve(file(candidate));
    } catch {
      // Not installed.
    }
  }
  if (packages.length === 0) {
    throw new Error(
      `there is no npm package for ${platform}-${arch}.\n` +
        'Build it from source with Rust instead: cargo install --locked runtail',
    );
  }
  throw new Error(
    `the package ${packages[0].name} is not installed.\n` +
      'npm leaves it out with --omit=optional (or --no-optional), and where node_modules or a lock file was made on another\n' +
      'platform. Delete node_modules (and the lock file, if it lacks that package), then: npm install --include=optional',
  );
}

/** Runs the binary in this terminal, passes signals to it, and ends as it ends. */
function main() {
  let binary;
  try {
    binary = find();
  } catch (error) {
    console.error(`runtail: ${error.message}`);
    process.exit(2);
  }
  // Before the start, because a signal may arrive at once. The console of Windows tells both processes, and `kill` would
  // end the binary there.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => process.platform === 'win32' || child.kill(signal));
  const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
  child.on('error', (error) => {
    console.error(`runtail: cannot start ${binary}: ${error.message}`);
    process.exit(2);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of signals) process.removeAllListeners(name);
    // For a signal that Node ignores.
    process.exitCode = 128 + os.constants.signals[signal];
    process.kill(process.pid, signal);
  });
}

if (require.main === module) main();
else module.exports = { TARGETS, candidates, file, find, isMusl };
