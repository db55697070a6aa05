// How soon the page shows its nodes, and how long frames take while it updates: frames.mjs URL [SECONDS]. One line of JSON.

import { loadavg } from 'node:os'
import { open, until } from './page.mjs'

const url = process.argv[2]
const seconds = Number(process.argv[3] ?? 20)
const paints = []
let frames = []
let nodes = ''
for (let i = 0; i < 5; i++) {
  const { browser, page } = await open({ motion: 'no-preference' }, url)
  paints.push(await page.evaluate(() => {
    const at = (name) => Math.round(performance.getEntriesByName(name)[0]?.startTime ?? NaN)
    return { contentful: at('first-contentful-paint'), field: at('joiner-field') }
  }))
  if (i === 4) {
    nodes = (await until(page, 'the count of nodes', (now) => now.Nodes !== '–')).Nodes
    frames = await page.evaluate((s) => new Promise((done) => {
      const taken = []
      let last = 0
      const tick = (t) => {
        if (last > 0) taken.push(t - last)
        last = t
        if (taken.reduce((a, b) => a + b, 0) < s * 1000) requestAnimationFrame(tick)
        else done(taken)
      }
      requestAnimationFrame(tick)
    }), seconds)
  }
  await browser.close()
}
frames.sort((a, b) => a - b)
const at = (share) => Math.round(frames[Math.min(frames.length - 1, Math.floor(frames.length * share))] * 10) / 10
console.log(JSON.stringify({ nodes, paints, frames: frames.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), load: loadavg()[0] }))
