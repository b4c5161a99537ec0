#!/usr/bin/env node
// Makes the npm packages from finished binaries: `node packaging/npm.js BINARIES OUT [--some]`.
//
// BINARIES has a folder for each Rust target with the binary in it, such as x86_64-unknown-linux-musl/runtail. A missing
// target is an error unless `--some` is given. OUT gets a folder for each package, ready for `npm pack` or `npm publish`:
// one with the binary of each platform, and `runtail`, whose launcher finds the binary. Publish `runtail` last.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { TARGETS, file } = require('./npm-launcher.js');

const root = path.join(__dirname, '..');
const [binaries, out, some] = process.argv.slice(2);
if (!out || (some && some !== '--some')) fail('usage: npm.js BINARIES OUT [--some]');

const version = /^\[workspace\.package\][^[]*?^version = "([^"]+)"/m.exec(read('Cargo.toml'))?.[1];
if (!version) fail('Cargo.toml has no version');
const common = {
  version,
  license: 'MIT OR Apache-2.0',
  homepage: 'https://github.com/runtail/runtail',
  repository: { type: 'git', url: 'git+https://github.com/runtail/runtail.git' },
};

const made = [];
for (const [target, at] of Object.entries(TARGETS)) {
  const binary = path.join(binaries, target, path.basename(file(at)));
  if (!fs.existsSync(binary)) {
    if (some) continue;
    fail(`${binary} is missing (--some makes the packages of the others)`);
  }
  const folder = write(at.name, {
    description: `The binary of runtail for ${target}`,
    os: [at.os],
    cpu: [at.cpu],
    ...(at.libc && { libc: [at.libc] }),
    // Yarn keeps packages zipped otherwise, and a binary can't run from there.
    preferUnplugged: true,
    files: ['bin', 'LICENSE-*'],
  });
  copy(binary, path.join(out, file(at)));
  fs.writeFileSync(path.join(folder, 'README.md'), `The binary of [runtail](${common.homepage}) for \`${target}\`. Install \`runtail\` instead.\n`);
  made.push(at.name);
}
if (made.length === 0) fail(`${binaries} has no binary of a known target`);

const folder = write('runtail', {
  description: 'A terminal dashboard and command line for agent deployments and their live streams',
  keywords: ['tui', 'cli', 'langgraph', 'langsmith', 'agents', 'sse'],
  bin: { runtail: 'bin/runtail.js' },
  files: ['bin', 'LICENSE-*'],
  engines: { node: '>=18' },
  optionalDependencies: Object.fromEntries(made.map((name) => [name, version])),
});
copy(path.join(__dirname, 'npm-launcher.js'), path.join(folder, 'bin', 'runtail.js'));
fs.copyFileSync(path.join(root, 'README.md'), path.join(folder, 'README.md'));
console.log(`runtail ${version}: ${made.join(', ')}`);

/** Creates a package with the licenses, and returns its folder. */
function write(name, fields) {
  const folder = path.join(out, name);
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify({ name, ...common, ...fields }, null, 2)}\n`);
  for (const license of ['LICENSE-MIT', 'LICENSE-APACHE']) fs.copyFileSync(path.join(root, license), path.join(folder, license));
  return folder;
}

/** Copies an executable. Artifacts of a workflow have lost that permission. */
function copy(from, to) {
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.copyFileSync(from, to);
  fs.chmodSync(to, 0o755);
}

function read(name) {
  return fs.readFileSync(path.join(root, name), 'utf8');
}

function fail(message) {
  console.error(`npm.js: ${message}`);
  process.exit(2);
}
