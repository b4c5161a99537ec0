// Tests of the npm packages: `node --test packaging/npm.test.js`. The binary is a shell script here, so Windows is left out.
'use strict';

const assert = require('node:assert');
const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, test } = require('node:test');
const { TARGETS, candidates, file, find, isMusl } = require('./npm-launcher.js');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'runtail-npm-'));
after(() => fs.rmSync(folder, { recursive: true }));
const here = candidates(process.platform, process.arch, true)[0];
const skip = process.platform === 'win32' || !here;

/** Runs npm.js with these binaries: scripts by their target. */
function make(scripts, ...options) {
  const at = fs.mkdtempSync(path.join(folder, 'made-'));
  for (const [target, script] of Object.entries(scripts)) {
    fs.mkdirSync(path.join(at, target));
    fs.writeFileSync(path.join(at, target, path.basename(file(TARGETS[target]))), `#!/bin/sh\n${script}\n`);
  }
  const packages = path.join(at, 'node_modules');
  const args = [path.join(__dirname, 'npm.js'), at, packages, ...options];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { packages, status, stderr };
}

/** Returns a launcher whose binary is a script. */
function launcher(script) {
  const target = Object.keys(TARGETS).find((name) => TARGETS[name] === here);
  const { packages, stderr } = make({ [target]: script }, '--some');
  assert.strictEqual(stderr, '');
  return path.join(packages, 'runtail', 'bin', 'runtail.js');
}

/** Runs a launcher to its end. `during` gets the process at its first output. */
function run(at, args = [], during = () => {}) {
  const child = spawn(process.execPath, [at, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr']) child[stream].on('data', (data) => (output[stream] += data));
  child.stdout.once('data', () => during(child));
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, ...output })));
}

test('arguments and the exit code are passed on', { skip }, async () => {
  const at = launcher('echo "$# <$1> <$2>"; echo problem >&2; exit "$3"');
  for (const code of [0, 1, 2, 130]) {
    const expected = { code, signal: null, stdout: '3 <a b> <>\n', stderr: 'problem\n' };
    assert.deepStrictEqual(await run(at, ['a b', '', `${code}`]), expected);
  }
});

test('signals reach the binary, which decides how to end', { skip }, async () => {
  const at = launcher('trap "echo closed; exit 7" TERM INT HUP; echo ready; while :; do sleep 0.05; done');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    const { code, stdout } = await run(at, [], (child) => child.kill(signal));
    assert.deepStrictEqual([code, stdout], [7, 'ready\nclosed\n'], signal);
  }
});

test('a signal that ends the binary ends the launcher too', { skip }, async () => {
  for (const signal of ['INT', 'TERM', 'KILL', 'SEGV']) {
    const ended = await run(launcher(`kill -${signal} $$`));
    assert.strictEqual(ended.signal, `SIG${signal}`);
  }
});

test('a missing package is explained', { skip }, async () => {
  const at = launcher('');
  fs.rmSync(path.join(at, '..', '..', '..', '@runtail'), { recursive: true });
  const { code, stderr } = await run(at);
  assert.strictEqual(code, 2);
  assert.match(stderr, /^runtail: the package @runtail\/\S+ is not installed\.\n[^]*npm install --include=optional\n$/);
});

test('a platform without a package is explained', () => {
  assert.throws(() => find('freebsd', 'x64', false), /no npm package for freebsd-x64\.\n.*cargo install --locked runtail/);
  assert.throws(() => find('linux', 'ia32', false), /no npm package for linux-ia32/);
});

test('musl gets the static build only, and glibc either', () => {
  const names = (...platform) => candidates(...platform).map((target) => target.name);
  assert.deepStrictEqual(names('linux', 'x64', true), ['@runtail/linux-x64-musl']);
  assert.deepStrictEqual(names('linux', 'arm64', false), ['@runtail/linux-arm64', '@runtail/linux-arm64-musl']);
  assert.deepStrictEqual(names('darwin', 'arm64', false), ['@runtail/darwin-arm64']);
  const report = (header) => ({ getReport: () => ({ header }) });
  assert.strictEqual(isMusl(report({ glibcVersionRuntime: '2.36' })), false);
  assert.strictEqual(isMusl(report({})), true);
  fs.writeFileSync(path.join(folder, 'ld-musl-x86_64.so.1'), '');
  assert.strictEqual(isMusl(null, folder), true);
  assert.strictEqual(isMusl(null, __dirname), false);
});

test('a release has all packages, in one version', () => {
  assert.match(make({ 'x86_64-apple-darwin': '' }).stderr, /x86_64-unknown-linux-gnu\/runtail is missing/);
  assert.match(make({}, '--some').stderr, /no binary of a known target/);
  const { packages, status, stderr } = make(Object.fromEntries(Object.keys(TARGETS).map((target) => [target, ''])));
  assert.deepStrictEqual([status, stderr], [0, '']);
  const read = (name) => JSON.parse(fs.readFileSync(path.join(packages, name, 'package.json'), 'utf8'));
  const main = read('runtail');
  assert.match(main.version, /^\d+\.\d+\.\d+$/);
  assert.deepStrictEqual(Object.keys(main.optionalDependencies), Object.values(TARGETS).map(({ name }) => name));
  for (const [name, version] of Object.entries(main.optionalDependencies)) {
    assert.strictEqual(version, main.version);
    assert.strictEqual(read(name).version, main.version);
  }
  const { os, cpu, libc } = read('@runtail/linux-arm64-musl');
  assert.deepStrictEqual([os, cpu, libc], [['linux'], ['arm64'], ['musl']]);
  assert.ok(fs.existsSync(path.join(packages, '@runtail/win32-x64/bin/runtail.exe')));
});
