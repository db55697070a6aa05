// Builds the page into ../assets: app.js, app.css, index.html, icon.svg, licenses.txt, and built.json, which says of what it was
// built. With --check nothing is written and differences are reported.

import { build } from 'esbuild'
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const here = path.dirname(fileURLToPath(import.meta.url))
const assets = path.join(here, '..', 'assets')
const check = process.argv.includes('--check')

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: 'src/main.tsx' },
  outdir: 'out',
  bundle: true,
  write: false,
  minify: true,
  format: 'esm',
  target: ['es2022', 'chrome110', 'firefox115', 'safari16.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
})

const files = new Map()
for (const file of result.outputFiles) files.set(path.basename(file.path), Buffer.from(file.contents))
for (const name of ['index.html', 'icon.svg']) files.set(name, await readFile(path.join(here, 'src', name)))
files.set('licenses.txt', Buffer.from(await licenses(Object.keys(result.metafile.inputs))))
files.set('built.json', Buffer.from(JSON.stringify({ sources: await sources(), assets: digests(files) }, null, 2) + '\n'))

let differs = false
for (const [name, content] of files) {
  const at = path.join(assets, name)
  if (!check) {
    await writeFile(at, content)
    continue
  }
  const there = await readFile(at).catch(() => Buffer.alloc(0))
  if (!there.equals(content)) {
    console.error(`${name} is not what src builds to: run make console`)
    differs = true
  }
}
if (!check) for (const [name, content] of files) console.log(`${String(content.length).padStart(8)}  ${name}`)
process.exit(differs ? 1 : 0)

// sources are the digests of all that the page is built of, by name.
async function sources() {
  const names = ['build.mjs', 'package.json', 'package-lock.json', 'tsconfig.json']
  for (const name of await readdir(path.join(here, 'src'))) names.push(`src/${name}`)
  const out = {}
  for (const name of names.sort()) out[name] = digest(await readFile(path.join(here, name)))
  return out
}

function digests(all) {
  const out = {}
  for (const name of [...all.keys()].sort()) out[name] = digest(all.get(name))
  return out
}

function digest(content) {
  return createHash('sha256').update(content).digest('hex')
}

// licenses returns the license of each package that is in the bundle, with its text.
async function licenses(inputs) {
  const packages = new Set()
  for (const input of inputs) {
    const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)
    if (found) packages.add(found[1])
  }
  let text = 'The page contains these packages.\n'
  for (const name of [...packages].sort()) {
    const folder = path.join(here, 'node_modules', name)
    const about = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'))
    const file = (await readdir(folder)).find((f) => /^licen[cs]e/i.test(f))
    if (!file || !about.license) throw new Error(`${name}: no license file`)
    text += `\n${name} ${about.version}, ${about.license}\n\n${(await readFile(path.join(folder, file), 'utf8')).trim()}\n`
  }
  return text
}
